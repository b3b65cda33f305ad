"""Why a code is not exchanged: one answer for all reasons, and the reason for the developer's request log."""

from enum import StrEnum
from typing import Self

from presentation.machine_errors import MachineError

_NO_CODE = (
    "The code is unknown, was used or has expired, or it belongs to another client, redirect_uri or "
    "verifier, or the presentation is not valid any more."
)


class Reason(StrEnum):
    """What was wrong, in a sentence for developers. None repeats a value of the request."""

    UNKNOWN = "The code is unknown: it was changed on its way, or it expired minutes ago and was deleted"
    ANOTHER_CLIENT = "The code belongs to another client: another client_id asked for it"
    USED = "The code was used before; sending it again also ends its access token"
    EXPIRED = "The code has expired: it can be exchanged for one minute"
    REDIRECT_URI = "redirect_uri differs from that of the authorization request"
    VERIFIER_MISSING = "code_verifier is missing: the authorization request had a code_challenge"
    VERIFIER_WRONG = "code_verifier does not fit to the code_challenge of the authorization request"
    VERIFIER_UNEXPECTED = "code_verifier was sent, but the authorization request had no code_challenge"
    NOT_VALID = (
        "The presentation behind the code is no longer valid: the person took it back, or it was suspended "
        "or revoked"
    )
    GONE = "What the code stands for was erased: the person closed the wallet, or the service lost its key"

    @classmethod
    def of_verifier(cls, verifier: str, challenge: str) -> Self:
        """The reason for a verifier that does not fit to the challenge; either may be empty."""
        if not challenge:
            return cls.VERIFIER_UNEXPECTED
        return cls.VERIFIER_WRONG if verifier else cls.VERIFIER_MISSING


class CodeRefusedError(MachineError):
    """The code is not exchanged (RFC 6749 §5.2). The answer is the same for every reason."""

    error = "invalid_grant"

    def __init__(self, reason: Reason) -> None:
        super().__init__(_NO_CODE, for_developer=reason)
