"""Access tokens at endpoints for machines (RFC 6750).

Grants are re-checked against the relying party's current registration on every call.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from infra import browser
from infra.limits import ClientLimit
from presentation.machine_errors import (
    InsufficientScopeError,
    InvalidTokenError,
    MachineError,
    MissingTokenError,
)
from presentation.models import RelyingParty
from presentation.parameters import decoded
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
    client_id, grants = access_tokens.verify(token, now=now)
    party = active_party(client_id)
    if party is None:
        raise InvalidTokenError("The client of the access token may not use it any more.")
    return Bearer(party.named_in_log(), grants.intersection(party.grants))


def only_token(authorization: str, *, query: str = "", form: Mapping[str, str] | None = None) -> str:
    """The access token of a request: in the `Authorization` header, or in a form (RFC 6750 §2); "" for none.

    form: None if the endpoint takes no token from the body. Raises MachineError if there are several tokens
    (§3.1). One in the address counts among them, and is never used: addresses are in logs (§5.3).
    """
    scheme, _, in_header = authorization.partition(" ")
    in_header = in_header.strip() if scheme.lower() == "bearer" else ""
    in_form = (form or {}).get("access_token", "")
    in_address = any(decoded(pair.partition("=")[0]) == "access_token" for pair in query.split("&"))
    if [bool(in_header), bool(in_form), in_address].count(True) > 1:
        raise MachineError("Send the access token once, not in several ways.")
    return in_header or ("" if scheme else in_form)


class BearerAuthentication(BaseAuthentication):
    """Sets `request.user` to the `Bearer` of the token, which must be in the Authorization header."""

    def authenticate(self, request: Request) -> tuple[Any, None]:
        """Raises MissingTokenError, InvalidTokenError, LimitReachedError, or MachineError for two tokens."""
        query = request.META.get("QUERY_STRING", "")
        token = only_token(request.headers.get("Authorization", ""), query=query)
        if not token:
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
