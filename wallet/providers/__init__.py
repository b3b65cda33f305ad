"""Identity-verification providers: the contract every one of them keeps, and what they may find.

A provider is a small class, one module each, named in settings by its dotted path. It never touches the
database rows of an attempt: it says what it found, and `identity.state_machine` decides what that means.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from django.conf import settings
from django.utils.module_loading import import_string
from django.utils.translation import gettext_lazy as _

from wallet.claims import Identity, Text
from wallet.models import IdentityVerification

# Why a submission did not pass, or was not decided: code → what the person reads. Providers use these.
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
    """The provider cannot be reached or does not make sense; trying again may help."""


@dataclass(frozen=True)
class Pending:
    """No result yet: ask again later."""


@dataclass(frozen=True)
class Verified:
    """The person is who `identity` says."""

    identity: Identity


@dataclass(frozen=True)
class SubmitAgain:
    """Something that the person can mend; `reason` is a key of `REASONS`."""

    reason: str


@dataclass(frozen=True)
class NeedsReview:
    """A person has to decide; `identity` is what was read, if anything was."""

    reason: str
    identity: Identity | None = None


@dataclass(frozen=True)
class Refused:
    """The person could not be verified and should not just try again."""

    reason: str


@dataclass(frozen=True)
class Failed:
    """The provider failed. It is nobody's fault here, so the try is not charged."""

    reason: str = "provider_failed"


Finding = Pending | Verified | SubmitAgain | NeedsReview | Refused | Failed


class Provider(Protocol):
    """What every provider does. Each method may take its time, so none is called inside a transaction."""

    def start(self, verification: IdentityVerification) -> str:
        """Prepare a check; give the provider's own reference for it ("" if it has none).

        Called whenever the person begins or begins again; may give the same reference. Raises
        `ProviderError`.
        """

    def address(self, verification: IdentityVerification) -> str:
        """Where the browser goes to be checked: a path on this host, or an https address elsewhere.

        When done there, the provider sends it to the page `wallet_identity_return` of this attempt, and
        calls `state_machine.submit` (its webhook or its page on this host does).
        """

    def result(self, verification: IdentityVerification, *, now: datetime) -> Finding:
        """What came out so far; may be asked any number of times. Raises `ProviderError`."""


def configured() -> Provider:
    """The provider that new attempts use."""
    provider: Provider = import_string(settings.IDENTITY_PROVIDER)()
    return provider
