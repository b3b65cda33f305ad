"""Access tokens of relying applications: JWTs that say who may do what (RFC 9068).

Whether the relying party still may is not in them, and for `bearer` to ask.
"""

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from django.conf import settings

from keys import key_set
from keys.issuer_key import active_issuer_key
from keys.jws import JwsError, encode_segment, sign_segments, take_apart
from presentation.relying_parties.authentication.signed_jwt import LEEWAY, ClientJwtError, times

LIFETIME = timedelta(minutes=10)
_TYPE = "at+jwt"
LONGEST = 4096  # characters


class TokenRefusedError(ValueError):
    """This is no access token of ours that works now; the text says why."""


@dataclass(frozen=True)
class Access:
    """Who may do what."""

    client_id: str
    grants: frozenset[str]


@dataclass(frozen=True, repr=False)
class IssuedToken:
    """A token as it travels, and for how many seconds it works."""

    text: str
    expires_in: int


def issue(client_id: str, grants: list[str], *, now: datetime) -> IssuedToken:
    """A token for these grants. NoSigningKeyError, BrokenChainError and SealError pass through.

    A key withdrawn a moment ago may still sign it; such a token is refused as soon as that is known.
    """
    key = active_issuer_key(now=now)
    expires_at = int(min(now + LIFETIME, key.not_after).timestamp())
    issued_at = int(now.timestamp())
    payload = {
        "iss": settings.BASE_URL,
        "aud": settings.BASE_URL,
        # The client itself (RFC 9068 §2.2). No token of ours has a holder as its subject, so that neither is
        # taken for the other (RFC 9700 §4.15); and client ids are made here, like the name of no holder.
        "sub": client_id,
        "client_id": client_id,
        "iat": issued_at,
        "exp": expires_at,
        "jti": str(uuid.uuid4()),
        "scope": " ".join(grants),
    }
    text = sign_segments(_header(key.kid), encode_segment(payload), key.signer)
    return IssuedToken(text, expires_at - issued_at)


def verify(token: str, *, now: datetime) -> Access:
    """What this token says that its bearer may do; raises TokenRefusedError."""
    try:
        if len(token) > LONGEST:
            raise TokenRefusedError("The access token is too long.")
        unverified = take_apart(token)
        key = key_set.find(str(unverified.header.get("kid")))
        if key is None:
            raise TokenRefusedError("The access token is signed by an unknown key.")
        claims = unverified.verified(key.public_key, typ=_TYPE)
    except JwsError as error:
        raise TokenRefusedError(f"The access token is refused: {error}.") from error
    if claims.get("iss") != settings.BASE_URL or claims.get("aud") != settings.BASE_URL:
        raise TokenRefusedError("The access token is for somebody else.")
    _check_times(claims, now)
    # Our own hand wrote the rest.
    return Access(claims["client_id"], frozenset(claims["scope"].split()))


def _check_times(claims: dict[str, Any], now: datetime) -> None:
    """It ends to the second; how soon it begins is by the clock of the instance that gave it."""
    try:
        said = times(claims, "exp", "nbf", "iat")
    except ClientJwtError as error:
        raise TokenRefusedError(f"The access token {error}.") from error
    if said.get("exp", 0) <= now.timestamp():
        raise TokenRefusedError("The access token has expired.")
    if max(said.get("nbf", 0), said.get("iat", 0)) > (now + LEEWAY).timestamp():
        raise TokenRefusedError("The access token is not valid yet.")


@lru_cache(maxsize=4)
def _header(kid: str) -> str:
    return encode_segment({"alg": "ES256", "typ": _TYPE, "kid": kid})
