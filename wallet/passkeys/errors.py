"""Why a passkey was refused. Pure."""

from cryptography.exceptions import UnsupportedAlgorithm
from webauthn.helpers.exceptions import WebAuthnException

# What py_webauthn raises for what no authenticator makes. The last four are of malformed CBOR and keys.
INVALID = (WebAuthnException, ValueError, TypeError, LookupError, UnsupportedAlgorithm)


class PasskeyError(Exception):
    """The base class; `code` is a key of `problem_page.PROBLEMS`."""

    code = "refused"


class MalformedError(PasskeyError):
    """The posted data is not what a browser makes of a passkey."""

    code = "unreadable"


class TooLateError(PasskeyError):
    """The challenge was used, has expired, or belongs elsewhere."""

    code = "too_late"


class UnknownError(PasskeyError):
    """No wallet has this passkey: it was removed, or is from another installation."""

    code = "unknown"


class OtherWalletError(PasskeyError):
    """The passkey belongs to another wallet."""

    code = "other"


class RefusedError(PasskeyError):
    """The signature, the origin, the RP ID or the user verification is not as it must be."""

    code = "refused"


class CountedBackError(PasskeyError):
    """The sign count did not go up, so there may be a copy of the authenticator (WebAuthn Level 3 §6.1.1)."""

    code = "copied"


class TooManyError(PasskeyError):
    """The wallet has as many passkeys as it may have."""

    code = "too_many"


class KnownAlreadyError(PasskeyError):
    """A wallet has this passkey already."""

    code = "known_already"
