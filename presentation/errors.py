"""What may go wrong with a request, in two families; the type says what may be done about it.

`UntrustedRequestError`: nobody has proven where an answer may go, so people get a page (RFC 6749 §4.1.2.1).
`AuthorizationError`: the answer goes home, to a registered redirect URI (§4.2.2.1, OpenID4VP 1.0 §8.5).
"""

import re

from django.utils.functional import Promise

_NOT_ALLOWED = re.compile(r"[^\x20\x21\x23-\x5b\x5d-\x7e]")
_LONGEST_DESCRIPTION = 300


class UntrustedRequestError(Exception):
    """Shown as a page with status 400 and never redirected.

    `reason` is for the person in front of the page; `hint` is for the developer looking over their
    shoulder. Neither ever repeats what the request said.
    """

    status = 400
    seconds: int | None = None  # after which it may be sent again

    def __init__(self, reason: str | Promise, hint: str = "") -> None:
        super().__init__(hint or str(reason))
        self.reason = reason
        self.hint = hint


class NotNowError(UntrustedRequestError):
    """The request could not be looked at; the same request can be sent again after so many `seconds`."""

    def __init__(self, reason: str | Promise, hint: str, *, status: int, seconds: int) -> None:
        super().__init__(reason, hint)
        self.status, self.seconds = status, seconds


class AuthorizationError(Exception):
    """Sent home as `error` and `error_description`, with `state`. One subclass per code."""

    error: str

    def __init__(self, description: str) -> None:
        self.description = printable(description)
        super().__init__(self.description)

    def as_parameters(self) -> dict[str, str]:
        """The members of the answer, `state` aside."""
        return {"error": self.error, "error_description": self.description}


class InvalidRequestError(AuthorizationError):
    """A parameter is missing, repeated, too long or not of the form it must have."""

    error = "invalid_request"


class UnsupportedResponseTypeError(AuthorizationError):
    """`response_type` is not `vp_token`."""

    error = "unsupported_response_type"


class InvalidScopeError(AuthorizationError):
    """`scope` is missing, unknown or not this relying party's to ask."""

    error = "invalid_scope"


class UnauthorizedClientError(AuthorizationError):
    """The request is in order, and not this relying party's to make."""

    error = "unauthorized_client"


class InvalidRequestObjectError(AuthorizationError):
    """The signed request is too old, or not meant for this service (RFC 9101 §7)."""

    error = "invalid_request_object"


class InvalidRequestUriError(AuthorizationError):
    """There is no request any more where it was pushed or published (RFC 9101 §7)."""

    error = "invalid_request_uri"


class InvalidRequestUriMethodError(AuthorizationError):
    """A published request is to be got in a way that there is not (OpenID4VP 1.0 §5.10)."""

    error = "invalid_request_uri_method"


class InvalidTransactionDataError(AuthorizationError):
    """A `transaction_data` value breaks the rules of its type (OpenID4VP 1.0 §8.5)."""

    error = "invalid_transaction_data"


class VpFormatsNotSupportedError(AuthorizationError):
    """Only credentials of other formats are asked for (OpenID4VP 1.0 §8.5)."""

    error = "vp_formats_not_supported"


class AccessDeniedError(AuthorizationError):
    """The one answer for declining, giving up, failing verification and holding nothing that matches.

    It takes no description, so that it cannot tell these apart (OpenID4VP 1.0 §15.4.1).
    """

    error = "access_denied"

    def __init__(self) -> None:
        super().__init__("The request was not granted.")


class ServerError(AuthorizationError):
    """Something is broken here. What it is goes to the log, not to the relying application."""

    error = "server_error"

    def __init__(self) -> None:
        super().__init__("The service could not complete the request.")


class TemporarilyUnavailableError(AuthorizationError):
    """The service cannot answer now and expects to be able to soon."""

    error = "temporarily_unavailable"

    def __init__(self) -> None:
        super().__init__("The service cannot answer at the moment. Try again in a few minutes.")


def printable(text: str) -> str:
    """The text in the characters an error description may have (RFC 6749 §4.2.2.1), cut to a sane length."""
    text = _NOT_ALLOWED.sub("?", text.replace('"', "'").replace("\\", "/"))
    return text if len(text) <= _LONGEST_DESCRIPTION else text[: _LONGEST_DESCRIPTION - 3] + "..."
