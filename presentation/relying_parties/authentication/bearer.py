"""Access tokens at endpoints for machines (RFC 6750): they say what their party may do as long as it may."""

from collections.abc import Set
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from infra import browser
from infra.database.prepared_statements import PreparedRead
from infra.limits import Limit
from presentation.machine_errors import InsufficientScopeError, InvalidTokenError, MissingTokenError
from presentation.models import RelyingParty
from presentation.relying_parties.authentication import access_tokens

# Tokens that are refused, per client address: somebody's cache may be old, but not so often. A good token is
# never counted here, so that nobody behind the same address suffers.
REFUSED = Limit("refused_tokens_of_address", most=300, window=timedelta(minutes=1))
_active = PreparedRead(
    lambda value: RelyingParty.objects.filter(
        client_id=value("client_id"), state=RelyingParty.State.ACTIVE
    ).defer("logo")
)


@dataclass(frozen=True)
class Bearer:
    """The active relying party that an access token was issued to, and what it may do with the token now."""

    relying_party: RelyingParty
    grants: Set[str]

    @property
    def client_id(self) -> str:
        return self.relying_party.client_id


def access_by(token: str, *, now: datetime) -> Bearer:
    """What the bearer of this token may do: no more than its relying party may at this moment.

    Raises InvalidTokenError, also when the relying party is suspended or gone.
    """
    try:
        access = access_tokens.verify(token.strip(), now=now)
    except access_tokens.TokenRefusedError as error:
        raise InvalidTokenError(str(error)) from error
    party = _active.first(client_id=access.client_id)
    if party is None:
        raise InvalidTokenError("The client of the access token may not use it any more.")
    return Bearer(party, access.grants.intersection(party.grants))


class BearerAuthentication(BaseAuthentication):
    """`request.user` is the `Bearer` of the token in the header; there it must be, and nowhere else."""

    def authenticate(self, request: Request) -> tuple[Any, None]:
        """Raises MissingTokenError, InvalidTokenError or LimitReachedError."""
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            raise MissingTokenError("An access token is needed (Authorization: Bearer).")
        now = timezone.now()
        try:
            return access_by(token, now=now), None
        except InvalidTokenError:
            REFUSED.take(browser.address(request._request), now=now)
            raise


class HasGrant(BasePermission):
    """The access token is good for what the view names as its `grant`."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """Raises InsufficientScopeError."""
        access: Any = request.user
        if view.grant not in access.grants:
            raise InsufficientScopeError(view.grant)
        return True
