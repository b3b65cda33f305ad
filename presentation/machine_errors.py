"""Errors of the endpoints for machines: JSON with `error`, a status, and the headers that belong to it.

The token endpoint's errors are in RFC 6749 §5.2, those about access tokens in RFC 6750 §3.1.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any, Protocol, TypeVar, cast

from django.http import HttpRequest

from presentation.errors import printable

REALM = "presentation"
View = TypeVar("View", bound=Callable[..., Any])


class _Marked(Protocol):
    for_machines: bool


def for_machines(view: View) -> View:
    """Marks a Django view that machines call, so that errors outside the view are answered as JSON too."""
    cast(_Marked, view).for_machines = True
    return view


def is_marked(view: Callable[..., Any]) -> bool:
    """Whether the view is marked with `for_machines`."""
    return bool(getattr(view, "for_machines", False))


def is_for_machines(request: HttpRequest) -> bool:
    """Whether the view of this request is marked."""
    match = request.resolver_match
    return match is not None and is_marked(match.func)


class MachineError(Exception):
    """Answered as JSON; descriptions never repeat values of the request.

    By itself it is about a parameter that is missing, repeated, too long or malformed. Subclasses are those
    that several places raise, or that carry headers.

    for_developer: what was wrong, where the answer must not say it because an attacker could learn from it.
    The sandbox shows it to the developer in the request log; it is in no answer and in no log of the service.
    """

    error = "invalid_request"
    status = 400
    challenge = ""  # `WWW-Authenticate` (RFC 9110 §11.6.1)
    seconds: int | None = None  # `Retry-After` (RFC 9110 §10.2.3)

    def __init__(
        self, description: str, *, error: str = "", status: int = 0, for_developer: str = ""
    ) -> None:
        self.description, self.for_developer = printable(description), for_developer
        self.error, self.status = error or self.error, status or self.status
        super().__init__(self.description)

    def headers(self) -> dict[str, str]:
        """The headers that the status requires."""
        headers = {"WWW-Authenticate": self.challenge} if self.challenge else {}
        return headers if self.seconds is None else headers | {"Retry-After": str(self.seconds)}

    def as_members(self) -> dict[str, str]:
        """The members of the answer."""
        return {"error": self.error, "error_description": self.description}


class InvalidClientError(MachineError):
    """The client is not authenticated. The text does not help an attacker to guess what was wrong."""

    error = "invalid_client"
    status = 401
    challenge = f'Basic realm="{REALM}", charset="UTF-8"'


class TooOftenError(MachineError):
    """A limit is reached. retry_at: when the client may try again."""

    error = "temporarily_unavailable"
    status = 429

    def __init__(self, *, retry_at: datetime, now: datetime) -> None:
        self.seconds = max(1, int((retry_at - now).total_seconds()) + 1)
        super().__init__(f"Too many requests. Try again in {self.seconds} seconds.")


class UnavailableError(MachineError):
    """Something is temporarily unavailable: the database, a signing key, a relying party's server."""

    error = "temporarily_unavailable"
    status = 503

    usual = "The service cannot answer at the moment. Try again when Retry-After says."

    def __init__(self, description: str = usual, *, seconds: int = 60) -> None:
        super().__init__(description)
        self.seconds = seconds


class OurFaultError(MachineError):
    """A fault of this service. The cause is in the log, under the reference that the answer names."""

    error = "server_error"
    status = 500

    def __init__(self, reference: str) -> None:
        super().__init__(
            f"Something went wrong on our side. Quote the reference {reference} when you report this."
        )


class InvalidTokenError(MachineError):
    """The access token was not issued here, has expired, or its client is suspended (RFC 6750 §3.1)."""

    error = "invalid_token"
    status = 401

    def __init__(self, description: str) -> None:
        super().__init__(description)
        self.challenge = (
            f'Bearer realm="{REALM}", error="{self.error}", error_description="{self.description}"'
        )


class MissingTokenError(MachineError):
    """There is no access token. The challenge then has no error code (RFC 6750 §3.1)."""

    error = "invalid_token"
    status = 401
    challenge = f'Bearer realm="{REALM}"'


class InsufficientScopeError(MachineError):
    """The access token is valid but does not have the scope that the endpoint requires."""

    error = "insufficient_scope"
    status = 403

    def __init__(self, scope: str) -> None:
        super().__init__(f"This needs an access token with the scope {scope}.")
        self.challenge = f'Bearer realm="{REALM}", error="{self.error}", scope="{scope}"'
