"""What machines are told when something is wrong: JSON with `error`, a status, and headers that go with it.

The token endpoint's errors are RFC 6749 §5.2, those of an access token RFC 6750 §3.1.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

from presentation.errors import printable

REALM = "presentation"
View = TypeVar("View", bound=Callable[..., Any])


def for_machines(view: View) -> View:
    """Marks a Django view that machines call: what it does not handle itself is answered as JSON too."""
    view.for_machines = True  # type: ignore[attr-defined]
    return view


def is_for_machines(request: Any) -> bool:
    """Whether the view of this request is marked so."""
    match = getattr(request, "resolver_match", None)
    return bool(match and getattr(match.func, "for_machines", False))


class MachineError(Exception):
    """Answered as JSON. One subclass per code; the description never repeats what was sent."""

    error = "invalid_request"
    status = 400

    def __init__(self, description: str) -> None:
        self.description = printable(description)
        super().__init__(self.description)

    def headers(self) -> dict[str, str]:
        """What goes with the status."""
        return {}

    def as_members(self) -> dict[str, str]:
        """The members of the answer."""
        return {"error": self.error, "error_description": self.description}


class MalformedRequestError(MachineError):
    """A parameter is missing, repeated, too long or not of the form it must have."""


class RefusedRequestError(MachineError):
    """A pushed request is wrong, with the code that the authorization endpoint has for it (RFC 9126 §2.3)."""

    def __init__(self, error: str, description: str) -> None:
        super().__init__(description)
        self.error = error


class TooLargeError(MachineError):
    """The body is longer than any good one."""

    status = 413


class NoLengthError(MachineError):
    """The body comes in chunks, which nobody reads here (RFC 9110 §15.5.12)."""

    status = 411


class InvalidClientError(MachineError):
    """Nobody knows who is asking. Which part of it was wrong is said only where it helps nobody to guess."""

    error = "invalid_client"
    status = 401

    def headers(self) -> dict[str, str]:
        """With a 401 goes the way to authenticate (RFC 9110 §11.6.1)."""
        return {"WWW-Authenticate": f'Basic realm="{REALM}", charset="UTF-8"'}


class UnauthorizedClientError(MachineError):
    """This relying party was granted nothing that needs an access token."""

    error = "unauthorized_client"


class UnsupportedGrantTypeError(MachineError):
    """Another grant than client credentials."""

    error = "unsupported_grant_type"


class ScopeNotGrantedError(MachineError):
    """A scope that is unknown or not granted to this relying party."""

    error = "invalid_scope"


class UnknownNonceError(MachineError):
    """There is no request to tell of, for whatever reason."""

    error = "unknown_request"
    status = 404

    def __init__(self) -> None:
        super().__init__("No request of this client with this nonce is known.")


class TooOftenError(MachineError):
    """More often than anybody needs; `retry_at` says when it may be tried again."""

    error = "temporarily_unavailable"
    status = 429

    def __init__(self, *, retry_at: datetime, now: datetime) -> None:
        self.seconds = max(1, int((retry_at - now).total_seconds()) + 1)
        super().__init__(f"Too many requests. Try again in {self.seconds} seconds.")

    def headers(self) -> dict[str, str]:
        """When to come again (RFC 9110 §10.2.3)."""
        return {"Retry-After": str(self.seconds)}


class UnavailableError(MachineError):
    """Something is away that will come back: the database, a key, somebody else's server."""

    error = "temporarily_unavailable"
    status = 503

    def __init__(self, *, seconds: int = 60) -> None:
        super().__init__("The service cannot answer at the moment. Try again when Retry-After says.")
        self.seconds = seconds

    def headers(self) -> dict[str, str]:
        """When to come again (RFC 9110 §10.2.3)."""
        return {"Retry-After": str(self.seconds)}


class OurFaultError(MachineError):
    """Something is broken here. What it is goes to the log, under the reference that people can quote."""

    error = "server_error"
    status = 500

    def __init__(self, reference: str) -> None:
        super().__init__(f"Something went wrong on our side. If you tell us, say the reference {reference}.")


class InvalidTokenError(MachineError):
    """The access token is not one of ours, or has ended."""

    error = "invalid_token"
    status = 401

    def headers(self) -> dict[str, str]:
        """RFC 6750 §3."""
        challenge = f'Bearer realm="{REALM}", error="{self.error}", error_description="{self.description}"'
        return {"WWW-Authenticate": challenge}


class MissingTokenError(InvalidTokenError):
    """No access token at all: told without a code that it is needed (RFC 6750 §3.1)."""

    def headers(self) -> dict[str, str]:
        """The scheme alone."""
        return {"WWW-Authenticate": f'Bearer realm="{REALM}"'}


class InsufficientScopeError(MachineError):
    """The access token is good, but not for this."""

    error = "insufficient_scope"
    status = 403

    def __init__(self, scope: str) -> None:
        super().__init__(f"This needs an access token with the scope {scope}.")
        self.scope = scope

    def headers(self) -> dict[str, str]:
        """Which scope it takes."""
        return {
            "WWW-Authenticate": f'Bearer realm="{REALM}", error="{self.error}", scope="{self.scope}"',
        }
