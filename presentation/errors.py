"""Errors of authorization requests, in two families; the family says how the error may be returned.

`UntrustedRequestError`: no return address is proven yet, so the holder sees a page (RFC 6749 §4.1.2.1).
`AuthorizationError`: sent to the relying party at a registered address (§4.2.2.1, OpenID4VP 1.0 §8.5).
"""

import re

from django.http import HttpRequest

from infra.words import Words

_NOT_ALLOWED = re.compile(r"[^\x20\x21\x23-\x5b\x5d-\x7e]")
_LONGEST_DESCRIPTION = 300


class RefusedRequest(HttpRequest):
    """A request that was refused, with the reason: for the developer, and not for the log."""

    refused_with: Exception


def refusal_of(request: HttpRequest) -> Exception | None:
    """Why the request was refused, if that was noted."""
    error: Exception | None = getattr(request, "refused_with", None)
    return error


class UntrustedRequestError(Exception):
    """Shown as a page and never redirected.

    reason: for the holder. hint: for the relying party's developer. Neither repeats values of the request.
    seconds: with status 429 or 503, the time after which the same request may be sent again (`Retry-After`).
    """

    def __init__(
        self, reason: Words, hint: str = "", *, status: int = 400, seconds: int | None = None
    ) -> None:
        super().__init__(hint or str(reason))
        self.reason, self.hint = reason, hint
        self.status, self.seconds = status, seconds


class AuthorizationError(Exception):
    """Sent to the relying party as `error` and `error_description`, with `state`. One subclass per code."""

    error: str
    description = ""

    def __init__(self, description: str = "") -> None:
        self.description = printable(description or self.description)
        super().__init__(self.description)

    def as_parameters(self) -> dict[str, str]:
        """The members of the answer except `state`."""
        return {"error": self.error, "error_description": self.description}


class InvalidRequestError(AuthorizationError):
    """A parameter is missing, repeated, too long or not of the form it must have."""

    error = "invalid_request"


class UnsupportedResponseTypeError(AuthorizationError):
    """`response_type` is not that of the client's registration: `vp_token`, or `code` for OpenID Connect."""

    error = "unsupported_response_type"


class InvalidScopeError(AuthorizationError):
    """`scope` is missing, unknown or not allowed for this relying party."""

    error = "invalid_scope"


class UnauthorizedClientError(AuthorizationError):
    """The request is valid, but this relying party may not ask for these claims, or could not get them."""

    error = "unauthorized_client"


class InvalidRequestObjectError(AuthorizationError):
    """The signed request does not verify, has expired, or names another audience (RFC 9101 §7)."""

    error = "invalid_request_object"


class InvalidRequestUriError(AuthorizationError):
    """The pushed request has expired or was used (RFC 9101 §7)."""

    error = "invalid_request_uri"


class InvalidRequestUriMethodError(AuthorizationError):
    """`request_uri_method` is neither `get` nor `post` (OpenID4VP 1.0 §5.10)."""

    error = "invalid_request_uri_method"


class InvalidTransactionDataError(AuthorizationError):
    """A `transaction_data` value breaks the rules of its type (OpenID4VP 1.0 §8.5)."""

    error = "invalid_transaction_data"


class VpFormatsNotSupportedError(AuthorizationError):
    """The request asks only for credentials of other formats (OpenID4VP 1.0 §8.5)."""

    error = "vp_formats_not_supported"


class AccessDeniedError(AuthorizationError):
    """The holder declined, gave up, could not be verified, or has no credential that matches.

    The description is fixed, so that the answer does not reveal which (OpenID4VP 1.0 §15.4.1).
    """

    error = "access_denied"

    def __init__(self) -> None:
        super().__init__("The request was not granted.")


class InteractionRequiredError(AuthorizationError):
    """`prompt=none`: a page is always shown (OpenID Connect Core 1.0 §3.1.2.6).

    Not `login_required` or `consent_required`, which would say whether somebody is signed in.
    """

    error = "interaction_required"
    description = "The holder has to be asked, as for every request, and prompt=none allows no page."


class UnmetAuthenticationRequirementsError(AuthorizationError):
    """The request demands an `acr` that no sign-in here has (OpenID Connect Core Error Code 1.0).

    It depends on the request alone. Who has no passkey is not told apart from who declines.
    """

    error = "unmet_authentication_requirements"
    description = "claims demands another acr than phr, a sign-in with a passkey."


class ServerError(AuthorizationError):
    """A fault of this service. The cause is in the log and is not sent to the relying party."""

    error = "server_error"
    description = "The service could not complete the request."


class TemporarilyUnavailableError(AuthorizationError):
    """The service cannot answer now but expects to soon."""

    error = "temporarily_unavailable"
    description = "The service cannot answer at the moment. Try again in a few minutes."


def printable(text: str) -> str:
    """The text in the characters that an error description may have (RFC 6749 §4.2.2.1), cut if too long."""
    text = _NOT_ALLOWED.sub("?", text.replace('"', "'").replace("\\", "/"))
    return text if len(text) <= _LONGEST_DESCRIPTION else text[: _LONGEST_DESCRIPTION - 3] + "..."
