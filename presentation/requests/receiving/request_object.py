"""A signed request object: all parameters as the claims of one JWT (RFC 9101, OpenID4VP 1.0 §5.8). Pure.

Parameters outside the object do not count. `typ` and `sub` are checked so that no other kind of JWT passes.
"""

import json
from collections.abc import Set
from datetime import datetime, timedelta
from typing import Any

from keys.jws import audiences_in
from presentation.parameters import CODE, LIMITS, OF_OPENID_CONNECT, REQUEST_OBJECT_PARAMETERS, Parameters
from presentation.relying_parties.authentication.signed_jwt import (
    ClientJwtError,
    FindKeys,
    check_times,
    signed_claims,
    times,
)

TYPE = "oauth-authz-req+jwt"
MEDIA_TYPE = f"application/{TYPE}"
LIFETIME = timedelta(hours=1)  # the latest `exp`, from now
SELF_ISSUED = "https://self-issued.me/v2"  # the audience for wallets whose metadata is unknown (§5.8)
# In an address these are text; in an object they are JSON values (OpenID4VP 1.0 §5.1, RFC 9101 §4). Many
# libraries put the text into the object too, so both are accepted.
JSON_VALUES: dict[str, tuple[type, str]] = {
    "dcql_query": (dict, "a JSON object or text"),
    "client_metadata": (dict, "a JSON object or text"),
    "transaction_data": (list, "a JSON array or text"),
    "claims": (dict, "a JSON object or text"),
    "max_age": (int, "a number or text"),
}


class RequestObjectError(ValueError):
    """The object is not a valid request of this client; the text says why.

    verified: the parameters, if the client's signature is verified and they name a return address, to which
    the error can then be sent.
    """

    def __init__(self, reason: str, verified: Parameters | None = None) -> None:
        super().__init__(f"the request object {reason}")
        self.verified = verified


def read(
    text: str,
    *,
    client_id: str,
    find_keys: FindKeys,
    issuer: str,
    now: datetime,
    needs_end: bool = True,
    wallet_nonce: str | None = None,
) -> Parameters:
    """The parameters in the object `text` of the client `client_id`; raises RequestObjectError.

    needs_end: whether it must have an `exp`, which neither RFC 9101 nor OpenID4VP 1.0 requires.
    wallet_nonce: the nonce that the object must repeat, if one was posted (OpenID4VP 1.0 §5.10).
    """
    verified: Parameters | None = None
    try:
        claims = signed_claims(text, find_keys, types=(TYPE,))
        if claims.get("client_id") != client_id:
            raise ClientJwtError("does not have the client_id that stands beside it")
        parameters, mistyped = _parameters(claims)
        if {"redirect_uri", "response_uri"} & parameters.values.keys():
            verified = parameters  # without either there is no address for the error
        if mistyped:
            raise ClientJwtError(mistyped)
        _check_meant_for(claims, {issuer, SELF_ISSUED}, client_id)
        _check_times(claims, now, needs_end=needs_end)
        if wallet_nonce is not None and claims.get("wallet_nonce") != wallet_nonce:
            raise ClientJwtError("is an answer to another request for it: wallet_nonce must be repeated")
    except ClientJwtError as error:
        raise RequestObjectError(str(error), verified) from error
    return parameters


def _check_meant_for(claims: dict[str, Any], audiences: Set[str], client_id: str) -> None:
    if audiences.isdisjoint(audiences_in(claims)):
        raise ClientJwtError("has another audience: aud must be the issuer, or an array with it")
    if claims.get("sub") == client_id:
        raise ClientJwtError("could be taken for a client assertion: it must not have this sub")
    if REQUEST_OBJECT_PARAMETERS & claims.keys():
        raise ClientJwtError("must not have another request in it (request, request_uri)")


def _check_times(claims: dict[str, Any], now: datetime, *, needs_end: bool) -> None:
    moments = times(claims)
    if needs_end and "exp" not in moments:
        raise ClientJwtError("does not say when it ends (exp)")
    check_times({"exp": now.timestamp() + 1} | moments, lifetime=LIFETIME, now=now)


def _parameters(claims: dict[str, Any]) -> tuple[Parameters, str | None]:
    """The claims that are parameters, as the text they would be in a URL, and the first problem, if any.

    A parameter of the wrong type gets no value, so that the others still say where to return the error.
    """
    unknown = REQUEST_OBJECT_PARAMETERS
    if claims.get("response_type") != CODE:
        unknown = unknown | OF_OPENID_CONNECT
    names = [name for name in LIMITS if name not in unknown and claims.get(name) is not None]
    texts = {name: _text(name, claims[name]) for name in names}
    mistyped = next((name for name in names if texts[name] is None), None)
    parameters = Parameters.of({name: [text] for name, text in texts.items()})
    if mistyped is None:
        return parameters, None
    _type, wanted = JSON_VALUES.get(mistyped, (str, "text"))
    return parameters, f"has a {mistyped} that is not {wanted}"


def _text(name: str, value: Any) -> str | None:
    """The value as text; None if it has a wrong type, or cannot be stored (NUL, not JSON)."""
    if name in JSON_VALUES and isinstance(value, JSON_VALUES[name][0]):
        try:
            return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, str) and "\x00" not in value else None
