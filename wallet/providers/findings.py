"""What an identity provider may find out about an attempt, and the words that people read about it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from django.utils.translation import gettext_lazy as _

from infra.words import Words
from wallet.credential.claims import Identity
from wallet.credential.evidence import Evidence

# Why a check did not pass, or was not decided: code → what the person reads. Providers use these.
REASONS: dict[str, Words] = {
    "blurry": _("The picture of your document was too blurred to read."),
    "document_expired": _("Your document has expired. Please use another one."),
    "document_unsupported": _("This kind of document cannot be used. Please use another one."),
    "document_without_photo": _("Your document has no picture of you that can be used. Use another one."),
    "document_unclear": _(
        "Your document could not be checked. Try again in good light, with all its corners in the picture."
    ),
    "selfie_unclear": _(
        "The picture of your face could not be checked. Try again in good light, without glasses or a hat."
    ),
    "face_mismatch": _("Your face could not be matched with the picture in your document."),
    "unreadable": _("Some of the details could not be read."),
    "not_verified": _("We couldn’t confirm that the document is yours."),
    "too_many_tries": _("The check did not succeed after several tries."),
    "unsure": _("The automatic check was not sure. That happens, and need not mean anything is wrong."),
    "in_person": _("Your identity is checked in person: show your document to the operator of this service."),
    "uploaded": _("An operator of this service looks at what you sent."),
    "held": _("Your wallet is on hold, so an operator decides."),
    "stopped": _("You stopped the last check. We kept only the fact that you started it."),
    "consent_declined": _("You did not agree to how this check works. Another kind of check may suit you."),
    "device_unsupported": _("This device has no camera that can be used. Try again on a phone."),
    "country_unsupported": _("Documents of your country cannot be checked there. Use another kind of check."),
    "too_young": _("You are too young for this kind of check. Use another one."),
    "too_low": _("That sign-in is not sure enough for what was asked. Use another kind of check."),
    "claims_missing": _("Some details that are needed were not given. Use another kind of check."),
    "details_differ": _("An operator of this service compares your details before this is decided."),
    "issuer_unknown": _("Your wallet’s identity comes from an issuer we do not know. Use another check."),
    "pid_revoked": _("The identity in your wallet is not valid any more."),
    "pid_suspended": _("The identity in your wallet is not valid at the moment. Use another kind of check."),
    "status_unknown": _("We could not find out whether the identity in your wallet is still valid."),
    "other_browser": _("That check was finished in another browser, so we could not accept it."),
    "provider_failed": _("The identity check had a problem of its own."),
    "provider_changed": _("The identity check had a problem of its own."),
    "no_answer": _("The identity check gave no answer in time."),
}
# Those that better pictures may mend.
PICTURE_REASONS = {"blurry", "document_unclear", "selfie_unclear", "face_mismatch", "unreadable"}


@dataclass(frozen=True)
class Pending:
    """No result yet: ask again later.

    submitted: the provider knows that the person is done and only the result is missing. Then the try is
    charged, and the person waits and cannot stop the check any more.
    """

    submitted: bool = False


@dataclass(frozen=True)
class _WithReason:
    reason: str

    def __post_init__(self) -> None:
        if self.reason not in REASONS:
            raise ValueError("reason is not a key of REASONS")


@dataclass(frozen=True)
class Verified:
    """The person is who `identity` says; `evidence` says how that is known."""

    identity: Identity
    evidence: Evidence


@dataclass(frozen=True)
class SubmitAgain(_WithReason):
    """Something that the person can mend; `reason` is a key of `REASONS`."""


@dataclass(frozen=True)
class NeedsReview(_WithReason):
    """A person has to decide; `identity` and `evidence` are what was read, as far as anything was.

    typed: what the person typed, by the name of the claim, where that differs from what was read.
    """

    identity: Identity | None = None
    evidence: Evidence | None = None
    typed: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Refused(_WithReason):
    """The person could not be verified and should not just try again."""


@dataclass(frozen=True)
class NotHere(_WithReason):
    """The check ends without a result and uncharged: the person stopped, or needs another provider."""


@dataclass(frozen=True)
class Failed(_WithReason):
    """The provider failed. It is nobody's fault here, so the try is not charged."""

    reason: str = "provider_failed"


Finding = Pending | Verified | SubmitAgain | NeedsReview | Refused | NotHere | Failed
