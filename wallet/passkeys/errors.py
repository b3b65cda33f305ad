"""Why a passkey was refused. Pure."""

from cryptography.exceptions import UnsupportedAlgorithm
from webauthn.helpers.exceptions import WebAuthnException

# What py_webauthn raises for what no authenticator makes. The last four are of malformed CBOR and keys.
INVALID = (WebAuthnException, ValueError, TypeError, LookupError, UnsupportedAlgorithm)


class PasskeyError(Exception):
    """The passkey is not accepted. `code` is a key of `problem_page.PROBLEMS`."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class UnreadableError(PasskeyError):
    """The text is not what a browser makes of a passkey; `why` is for developers."""

    def __init__(self, why: str) -> None:
        super().__init__("unreadable")
        self.why = why
