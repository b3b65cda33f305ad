"""Relying parties as clients of the endpoints for machines: secrets, keys, assertions, requests."""

import base64
import secrets
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlencode

from django.test import Client
from django.utils import timezone

from presentation.models import RelyingParty
from presentation.relying_parties.metadata.grants import GRANTS
from tests.forgery import Key, new_key, public_jwk, sign_jwt
from tests.people import register
from tests.relying_party import encode

TOKEN = "/oauth/v2/token"
FORM = "application/x-www-form-urlencoded"
ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"


def registered(name: str = "Acme Bank", **fields: Any) -> RelyingParty:
    """A relying party with every grant."""
    return register(name, "https://bank.example/callback", **({"grants": list(GRANTS)} | fields))


def with_secret(name: str = "Acme Bank", **fields: Any) -> tuple[RelyingParty, str]:
    """A relying party with a secret, and the secret."""
    from presentation.relying_parties.authentication import client_secrets

    party = registered(name, **fields)
    return party, client_secrets.rotate(party, now=timezone.now()).text


def with_key(name: str = "Acme Bank", **fields: Any) -> tuple[RelyingParty, Key]:
    """A relying party with a key of kid `one`, and the key."""
    key = new_key()
    return registered(name, jwks={"keys": [{"kid": "one", **public_jwk(key)}]}, **fields), key


def basic(client_id: str, secret: str) -> dict[str, str]:
    """The Authorization header for HTTP Basic (RFC 6749 §2.3.1)."""
    credentials = f"{quote(client_id, safe='')}:{quote(secret, safe='')}"
    return {"Authorization": "Basic " + base64.b64encode(credentials.encode()).decode()}


def assertion(client_id: str, key: Key, *, issuer: str, header: Any = None, **claims: Any) -> str:
    """A client assertion; a member that is None is left out."""
    now = int(datetime.now(UTC).timestamp())
    payload = {
        "iss": client_id,
        "sub": client_id,
        "aud": issuer,
        "jti": secrets.token_urlsafe(16),
        "iat": now,
        "exp": now + 60,
    } | claims
    head = {"alg": "ES256", "typ": "JWT", "kid": "one"} | (header or {})
    without = lambda members: {name: value for name, value in members.items() if value is not None}  # noqa: E731
    return sign_jwt(without(head), without(payload), key)


def ask(client: Client, form: Any = None, **headers: str) -> Any:
    """A token request; `form` is a dict of parameters, or a body as text."""
    body = (
        form
        if isinstance(form, str | bytes)
        else urlencode({"grant_type": "client_credentials"} | (form or {}))
    )
    return client.post(TOKEN, data=body, content_type=FORM, headers=headers)


def by_assertion(text: str) -> dict[str, str]:
    return {"client_assertion_type": ASSERTION_TYPE, "client_assertion": text}


def access_token(party: RelyingParty, *grants: str) -> str:
    """An access token for all grants of the relying party, or for `grants`."""
    from presentation.relying_parties.authentication import access_tokens

    issued = access_tokens.issue(party.client_id, list(grants) or party.grants, now=timezone.now())
    return str(issued["access_token"])


def private_jwk(key: Key, kid: str = "one") -> dict[str, str]:
    """The private key as the libraries of clients take it."""
    number = key.private_numbers().private_value
    return {"kid": kid, "d": encode(number.to_bytes(32, "big")), **public_jwk(key)}
