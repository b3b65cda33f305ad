"""ID tokens and signed UserInfo responses, checked (OpenID Connect Core §3.1.3.7, §3.1.3.8, §5.3.2). Pure."""

import hashlib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from jwcrypto.common import JWException
from jwcrypto.jwk import JWK
from jwcrypto.jws import JWS

from infra import base64url
from keys.jws import JwsError, audiences_in, decode_segment, octets

LEEWAY = 60  # seconds by which clocks may differ
OLDEST = 600  # seconds since `iat`
_HASHES = {"256": "sha256", "384": "sha384", "512": "sha512"}  # by the end of `alg`

FindKey = Callable[[Any, str], JWK | None]  # the provider's key, by `kid` and `alg`


class TokenError(ValueError):
    """The token is not valid; the text says why and repeats none of its content."""


@dataclass(frozen=True)
class Opened:
    """A token with a good signature. Its claims are not checked yet."""

    algorithm: str
    claims: dict[str, Any]


def opened(token: Any, find_key: FindKey, algorithms: Collection[str]) -> Opened:
    """The content of a signed token. Raises `TokenError`, and what `find_key` raises."""
    if not isinstance(token, str) or not token.isascii():
        raise TokenError("There is no signed token.")
    try:
        first, payload, third = token.split(".")
        header, _, _ = decode_segment(first), octets(payload), octets(third)
    except (JwsError, ValueError):
        raise TokenError("The token cannot be read.") from None
    algorithm = header.get("alg")
    if not isinstance(algorithm, str) or algorithm not in algorithms:
        raise TokenError("The token is signed with an algorithm that is not accepted.")
    key = find_key(header.get("kid"), algorithm)
    if key is None:
        raise TokenError("The token is signed with an unknown key.")
    try:
        read = JWS()
        read.allowed_algs = [algorithm]
        read.deserialize(token)
        read.verify(key)
    except (JWException, ValueError, TypeError, KeyError, UnicodeDecodeError):
        raise TokenError("The signature is wrong.") from None
    try:
        return Opened(algorithm, decode_segment(payload))
    except JwsError:
        raise TokenError("The content is not a JSON object.") from None


def check_id_token(
    token: Opened, *, issuer: str, client_id: str, nonce: str, access_token: str, now: datetime
) -> None:
    """Raises `TokenError` unless it is a fresh ID token for this service and this sign-in."""
    claims, seconds = token.claims, now.timestamp()
    _check_from_and_for(claims, issuer, client_id)
    if claims.get("nonce") != nonce:
        raise TokenError("The nonce is not that of the request.")
    if _number(claims, "exp") <= seconds - LEEWAY:
        raise TokenError("The token has expired.")
    if not seconds - OLDEST <= _number(claims, "iat") <= seconds + LEEWAY:
        raise TokenError("The token was not issued just now.")
    subject = claims.get("sub")
    if not isinstance(subject, str) or not subject:
        raise TokenError("The token names nobody.")
    if "at_hash" in claims and claims["at_hash"] != _half_hash(access_token, token.algorithm):
        raise TokenError("The token belongs to another access token.")


def check_userinfo(token: Opened, *, issuer: str, client_id: str) -> None:
    """Raises `TokenError` unless a signed UserInfo response is from this provider and for this service."""
    _check_from_and_for(token.claims, issuer, client_id)


def _check_from_and_for(claims: dict[str, Any], issuer: str, client_id: str) -> None:
    if claims.get("iss") != issuer:
        raise TokenError("The token names another issuer.")
    if audiences_in(claims) != (client_id,):
        raise TokenError("The token is not for this service alone.")
    if claims.get("azp", client_id) != client_id:
        raise TokenError("The token was issued to another client.")


def _number(claims: dict[str, Any], name: str) -> float:
    value = claims.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TokenError(f"{name} is not a number.")
    return value


def _half_hash(access_token: str, algorithm: str) -> str:
    digest = hashlib.new(_HASHES[algorithm[-3:]], access_token.encode()).digest()
    return base64url.encode(digest[: len(digest) // 2])
