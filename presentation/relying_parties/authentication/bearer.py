"""Access tokens at endpoints for machines (RFC 6750).

Grants are re-checked against the relying party's current registration on every call.
"""

from collections.abc import Set
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from infra import browser
from infra.limits import ClientLimit
from presentation.machine_errors import InsufficientScopeError, InvalidTokenError, MissingTokenError
from presentation.models import RelyingParty
from presentation.relying_parties.authentication import access_tokens
from presentation.relying_parties.authentication.authentication import active_party

# Refused tokens per client address. Valid tokens are not counted, so that one client cannot lock out others
# behind the same address.
REFUSED = ClientLimit.from_settings("refused-tokens-per-client")


@dataclass(frozen=True)
class Bearer:
    """The active relying party that an access token was issued to, and its grants at this moment."""

    relying_party: RelyingParty
    grants: Set[str]

    @property
    def client_id(self) -> str:
        return self.relying_party.client_id


def access_by(token: str, *, now: datetime) -> Bearer:
    """The bearer of this token, with the grants that both the token and the registration have.

    Raises InvalidTokenError, also if the relying party is suspended or deleted.
    """
    client_id, grants = access_tokens.verify(token.strip(), now=now)
    party = active_party(client_id)
    if party is None:
        raise InvalidTokenError("The client of the access token may not use it any more.")
    return Bearer(party.named_in_log(), grants.intersection(party.grants))


class BearerAuthentication(BaseAuthentication):
    """Sets `request.user` to the `Bearer` of the token, which must be in the Authorization header."""

    def authenticate(self, request: Request) -> tuple[Any, None]:
        """Raises MissingTokenError, InvalidTokenError or LimitReachedError."""
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            raise MissingTokenError("An access token is needed (Authorization: Bearer).")
        now = timezone.now()
        try:
            return access_by(token, now=now), None
        except InvalidTokenError:
            REFUSED.take(browser.address(request), now=now)
            raise


class HasGrant(BasePermission):
    """Requires the grant that the view names in its attribute `grant`."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """Raises InsufficientScopeError."""
        access: Any = request.user
        if view.grant not in access.grants:
            raise InsufficientScopeError(view.grant)
        return True
