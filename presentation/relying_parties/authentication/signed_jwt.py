"""JWTs that a relying party signed with its own key (RFC 7515 §4.1, RFC 7519 §4.1). Pure."""

from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from typing import Any

from keys.jws import JwsError, is_of_type, take_apart
from presentation.relying_parties.metadata.public_keys import ClientKeys

LEEWAY = timedelta(seconds=30)  # allowed difference between clocks
_END_OF_TIME = 2**40  # seconds; larger numbers could overflow date arithmetic
FindKeys = Callable[[str | None], ClientKeys]  # takes the kid that is needed


class ClientJwtError(ValueError):
    """The token is not valid. The text continues a sentence (“has expired”) and repeats no values."""


def signed_claims(token: str, find_keys: FindKeys, *, types: Collection[str | None]) -> dict[str, Any]:
    """The claims of a token that a registered key has signed; raises ClientJwtError.

    types: accepted values of `typ`; None accepts a token without it. The header names the key by `kid`, which
    may be left out if only one key is registered.
    """
    try:
        unverified = take_apart(token)
        kid, header = unverified.header.get("kid"), unverified.header
        named = [typ for typ in types if is_of_type(header, typ)]
        if not named or not isinstance(kid, str | None):
            raise ClientJwtError("is a token of another kind (typ)")
        keys = find_keys(kid)
        if kid is None and len(keys) == 1:
            (key,) = keys.values()
        elif kid is None or kid not in keys:
            raise ClientJwtError("is signed by a key that is not registered (kid)")
        else:
            key = keys[kid]
        return unverified.verified(key, typ=named[0])
    except JwsError as error:
        raise ClientJwtError(f"is refused: {error}") from error


def times(claims: dict[str, Any]) -> dict[str, float]:
    """Those of `exp`, `nbf` and `iat` that are present, in seconds; raises ClientJwtError."""
    numeric_dates = {name: claims[name] for name in ("exp", "nbf", "iat") if claims.get(name) is not None}
    for name, value in numeric_dates.items():
        if type(value) not in (int, float) or abs(value) > _END_OF_TIME:
            raise ClientJwtError(f"has no {name} that is a time in seconds")
    return numeric_dates


def check_times(moments: dict[str, float], *, lifetime: timedelta, now: datetime) -> None:
    """Raises ClientJwtError unless the token is valid now, and for at most `lifetime` from now."""
    moment, leeway = now.timestamp(), LEEWAY.total_seconds()
    if moments["exp"] <= moment - leeway:
        raise ClientJwtError("has expired (exp)")
    if moments["exp"] > moment + lifetime.total_seconds() + leeway:
        minutes = int(lifetime.total_seconds() // 60)
        raise ClientJwtError(f"may be valid for {minutes} minutes from now (exp)")
    if max(moments.get("nbf", 0), moments.get("iat", 0)) > moment + leeway:
        raise ClientJwtError("is not valid yet (nbf, iat)")
