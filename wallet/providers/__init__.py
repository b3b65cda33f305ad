"""Identity-verification providers: their interface, and their possible findings.

A provider is a class in a module of its own; IDENTITY_PROVIDER is its dotted path. It does not change the
rows of an attempt: it returns a finding, and `identity.state_machine` decides what follows.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from django.conf import settings
from django.utils.module_loading import import_string
from django.utils.translation import gettext_lazy as _

from wallet.claims import Identity, Text
from wallet.models import IdentityVerification

# Why a submission was not accepted or not decided: the text for the holder, by the provider's code.
REASONS: dict[str, Text] = {
    "blurry": _("The picture of your document was too blurred to read."),
    "document_expired": _("Your document has expired. Please use another one."),
    "document_unsupported": _("This kind of document cannot be used. Please use another one."),
    "face_mismatch": _("Your face could not be matched with the picture in your document."),
    "unreadable": _("Some of the details could not be read."),
    "not_verified": _("What was handed in was not enough to be sure that it is you."),
    "too_many_tries": _("The check did not succeed after several tries."),
    "unsure": _("The automatic check was not sure. That happens, and need not mean anything is wrong."),
    "in_person": _("Your identity is checked in person: show your document to the operator of this service."),
    "held": _("Your wallet is on hold, so an operator decides."),
    "provider_failed": _("The identity check had a problem of its own."),
    "provider_changed": _("The identity check had a problem of its own."),
    "no_answer": _("The identity check gave no answer in time."),
}


class ProviderError(Exception):
    """The provider cannot be reached or its answer is invalid; a later attempt may succeed."""


@dataclass(frozen=True)
class Pending:
    """There is no result yet."""


@dataclass(frozen=True)
class Verified:
    """The person was verified as `identity`."""

    identity: Identity


@dataclass(frozen=True)
class SubmitAgain:
    """The person can correct the submission; `reason` is a key of `REASONS`."""

    reason: str


@dataclass(frozen=True)
class NeedsReview:
    """An operator has to decide; `identity` is what the provider found, if anything."""

    reason: str
    identity: Identity | None = None


@dataclass(frozen=True)
class Refused:
    """The person could not be verified, and another attempt is not expected to help."""

    reason: str


@dataclass(frozen=True)
class Failed:
    """The provider failed. The submission is not counted against the holder."""

    reason: str = "provider_failed"


Finding = Pending | Verified | SubmitAgain | NeedsReview | Refused | Failed


class Provider(Protocol):
    """The interface of a provider. Methods may be slow, so none is called inside a transaction."""

    def start(self, verification: IdentityVerification) -> str:
        """Prepare a check, and return the provider's reference for it ("" if it has none).

        Called each time the person starts the check; may return the same reference. Raises `ProviderError`.
        """

    def address(self, verification: IdentityVerification) -> str:
        """The address of the check for the browser: a path on this host, or an https address elsewhere.

        After the check, the provider redirects the browser to the page `wallet_identity_return` of this
        attempt, and its webhook or its page on this host calls `state_machine.submit`.
        """

    def result(self, verification: IdentityVerification, *, now: datetime) -> Finding:
        """The finding so far; may be called any number of times. Raises `ProviderError`."""


def configured() -> Provider:
    """The provider that new attempts use."""
    provider: Provider = import_string(settings.IDENTITY_PROVIDER)()
    return provider
