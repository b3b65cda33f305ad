"""A signed request object: all parameters as the claims of one JWT (RFC 9101, OpenID4VP 1.0 §5.8). Pure.

Nothing outside it counts; and it can be taken for nothing else, nor anything else for it.
"""

import json
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from presentation.clients.signed_jwt import ClientJwtError, FindKeys, check_times, signed_claims, times
from presentation.requests.parameters import CARRIERS, LIMITS, Parameters

TYPE = "oauth-authz-req+jwt"
MEDIA_TYPE = f"application/{TYPE}"
LIFETIME = timedelta(hours=1)  # the longest from now to `exp`
WITHOUT_END = timedelta(minutes=5)  # the age of one that has `iat` and no `exp`
ANYBODY = "https://self-issued.me/v2"  # the audience of those who have not read our metadata (§5.8)
OBJECTS = frozenset({"dcql_query", "client_metadata"})  # text in an address, JSON objects here


class RequestObjectError(ValueError):
    """It is no request of this client; the text says why.

    `said` is what it asks, where it is certain that the client itself said so: enough to tell it at home.
    """

    def __init__(self, reason: str, said: Parameters | None = None) -> None:
        super().__init__(f"the request object {reason}")
        self.said = said


def read(
    text: str,
    *,
    client_id: str,
    find_keys: FindKeys,
    issuer: str,
    now: datetime,
    wallet_nonce: str | None = None,
) -> Parameters:
    """What the client `client_id` asks in the object `text`, as if it stood in the address.

    wallet_nonce: what it was asked to repeat, if it was (OpenID4VP 1.0 §5.10). Raises RequestObjectError.
    """
    said: Parameters | None = None
    try:
        claims = signed_claims(text, find_keys, types=(TYPE,))
        if claims.get("client_id") != client_id:
            raise ClientJwtError("does not have the client_id that stands beside it")
        said = _parameters(claims)
        _check_meant_for(claims, {issuer, ANYBODY}, client_id)
        _check_times(claims, now)
        if wallet_nonce is not None and claims.get("wallet_nonce") != wallet_nonce:
            raise ClientJwtError("is an answer to another request for it: wallet_nonce must be repeated")
    except ClientJwtError as error:
        raise RequestObjectError(str(error), said) from error
    return said


def _check_meant_for(claims: dict[str, Any], audiences: Collection[str], client_id: str) -> None:
    audience = claims.get("aud")
    if isinstance(audience, list) and len(audience) == 1:
        audience = audience[0]
    if not isinstance(audience, str) or audience not in audiences:
        raise ClientJwtError("is meant for somebody else: aud must be the issuer")
    if claims.get("sub") == client_id:
        raise ClientJwtError("could be taken for a client assertion: it must not have this sub")
    if CARRIERS & claims.keys():
        raise ClientJwtError("must not have another request in it (request, request_uri)")


def _check_times(claims: dict[str, Any], now: datetime) -> None:
    said = times(claims, "exp", "nbf", "iat")
    if "exp" not in said:
        if "iat" not in said:
            raise ClientJwtError("says neither when it ends (exp) nor when it was made (iat)")
        said["exp"] = said["iat"] + WITHOUT_END.total_seconds()
    check_times(said, lifetime=LIFETIME, now=now)


def _parameters(claims: dict[str, Any]) -> Parameters:
    """The claims that are parameters, JSON values as the text they are in an address (OpenID4VP 1.0 §5.1)."""
    names = [name for name in LIMITS if name not in CARRIERS and claims.get(name) is not None]
    return Parameters.of({name: [_text(name, claims[name])] for name in names})


def _text(name: str, value: Any) -> str:
    """Raises ClientJwtError for what could not stand in an address either."""
    if name in OBJECTS and not isinstance(value, dict):
        raise ClientJwtError(f"has a {name} that is no JSON object")
    try:
        if name in OBJECTS or (name == "transaction_data" and isinstance(value, list)):
            value = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        if not isinstance(value, str) or "\x00" in value:
            raise ClientJwtError(f"has a {name} that is no text")
        value.encode()
    except (ValueError, RecursionError) as error:
        reason = error if isinstance(error, ClientJwtError) else f"has a {name} that cannot be read"
        raise ClientJwtError(str(reason)) from error
    return value
