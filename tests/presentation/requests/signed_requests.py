"""Signed authorization requests."""

import time
from typing import Any

from django.test import Client

from presentation.models import RelyingParty
from tests.forgery import Key, sign_jwt
from tests.presentation.requests.authorization_requests import PATH, asked

TYPE = "oauth-authz-req+jwt"
Bank = tuple[RelyingParty, Key]


def signed(bank: Bank, issuer: str, *, header: Any = None, key: Key | None = None, **changes: Any) -> str:
    """The good request as a signed object; claims and header members that are None are left out."""
    now = int(time.time())
    claims = {
        "iss": bank[0].client_id,
        "aud": issuer,
        "iat": now,
        "exp": now + 60,
        **asked(bank[0]),
    } | changes
    head = {"alg": "ES256", "typ": TYPE, "kid": "one"} | (header or {})
    without = lambda members: {name: value for name, value in members.items() if value is not None}  # noqa: E731
    return sign_jwt(without(head), without(claims), key or bank[1])


def bring(client: Client, bank: Bank, text: str, **beside: str) -> Any:
    """Opens the authorization endpoint with the object as `request`."""
    return client.get(PATH, {"client_id": bank[0].client_id, "request": text} | beside)
