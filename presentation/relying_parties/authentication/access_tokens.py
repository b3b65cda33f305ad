"""Access tokens for relying parties, as JWTs (RFC 9068).

`bearer` re-checks the grants against the relying party's current registration on every call.
"""

import uuid
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

import structlog
from django.conf import settings

from infra.limits import ClientLimit, Limit
from keys import key_set
from keys.issuer_key import CANNOT_SIGN, active_issuer_key
from keys.jws import JwsError, encode_segment, sign_segments, take_apart
from presentation.machine_errors import InvalidTokenError, MachineError, UnavailableError
from presentation.parameters import space_delimited
from presentation.relying_parties.authentication.authentication import authenticate
from presentation.relying_parties.authentication.signed_jwt import LEEWAY, ClientJwtError, times

LIFETIME = timedelta(minutes=10)
_TYPE = "at+jwt"
LONGEST = 4096  # characters


def issue(client_id: str, grants: list[str], *, now: datetime) -> dict[str, Any]:
    """A token for these grants, as the members of the answer (RFC 6749 §5.1).

    A key that was withdrawn a moment ago may still sign it; `verify` refuses it once the withdrawal is known.
    Raises NoSigningKeyError, BrokenChainError, SealError or SignerUnavailableError.
    """
    key = active_issuer_key(now=now)
    expires_at = int(min(now + LIFETIME, key.not_after).timestamp())
    issued_at = int(now.timestamp())
    payload = {
        "iss": settings.BASE_URL,
        "aud": settings.BASE_URL,
        # The client itself (RFC 9068 §2.2). A client cannot be mistaken for a holder (RFC 9700 §4.15),
        # because no token has a holder as its subject.
        "sub": client_id,
        "client_id": client_id,
        "iat": issued_at,
        "exp": expires_at,
        "jti": str(uuid.uuid4()),
        "scope": " ".join(grants),
    }
    text = sign_segments(_header(key.kid), encode_segment(payload), key.signer)
    kind = {"token_type": "Bearer", "expires_in": expires_at - issued_at}
    return {"access_token": text, **kind, "scope": payload["scope"]}


def verify(token: str, *, now: datetime) -> tuple[str, frozenset[str]]:
    """The client and the grants of a valid token; raises InvalidTokenError."""
    try:
        if len(token) > LONGEST:
            raise InvalidTokenError("The access token is too long.")
        unverified = take_apart(token)
        key = key_set.find(str(unverified.header.get("kid")))
        if key is None:
            raise InvalidTokenError("The access token is signed by an unknown key.")
        claims = unverified.verified(key.public_key, typ=_TYPE)
    except JwsError as error:
        raise InvalidTokenError(f"The access token is refused: {error}.") from error
    # `issue` writes `aud` as one text, so a token with an array is none of ours.
    if claims.get("iss") != settings.BASE_URL or claims.get("aud") != settings.BASE_URL:
        raise InvalidTokenError("The access token has another issuer or audience.")
    _check_times(claims, now)
    # We issued this token, so its remaining claims need no validation.
    return claims["client_id"], frozenset(claims["scope"].split())


def _check_times(claims: dict[str, Any], now: datetime) -> None:
    """Checks `exp` exactly; `nbf` and `iat` with leeway, because instances have different clocks."""
    try:
        moments = times(claims)
    except ClientJwtError as error:
        raise InvalidTokenError(f"The access token {error}.") from error
    if moments.get("exp", 0) <= now.timestamp():
        raise InvalidTokenError("The access token has expired.")
    if max(moments.get("nbf", 0), moments.get("iat", 0)) > (now + LEEWAY).timestamp():
        raise InvalidTokenError("The access token is not valid yet.")


@lru_cache(maxsize=4)
def _header(kid: str) -> str:
    return encode_segment({"alg": "ES256", "typ": _TYPE, "kid": kid})


log = structlog.get_logger(__name__)

GRANT_TYPE = "client_credentials"
# Every request counts for its address, before any query. It counts for the client only after authentication,
# so that an attacker cannot use up the limit of another client.
PER_CLIENT_ADDRESS = ClientLimit.from_settings("token-requests-per-client")
PER_RELYING_PARTY = Limit.from_settings("token-requests-per-relying-party")


def grant(
    form: Mapping[str, str], authorization: str, *, network_address: str | None, now: datetime
) -> dict[str, Any]:
    """The members of the answer (RFC 6749 §5.1); raises MachineError or LimitReachedError."""
    PER_CLIENT_ADDRESS.take(network_address, now=now)
    if "grant_type" not in form:
        raise MachineError("grant_type is missing.")
    relying_party = authenticate(form, authorization, now=now)
    PER_RELYING_PARTY.take(relying_party.client_id, now=now)
    if form["grant_type"] != GRANT_TYPE:
        text = f"grant_type must be {GRANT_TYPE} or authorization_code."
        raise MachineError(text, error="unsupported_grant_type")
    scopes = _scopes(form.get("scope", ""), relying_party.grants)
    try:
        return issue(relying_party.client_id, scopes, now=now)
    except CANNOT_SIGN as error:
        log.exception("access_token_not_signed")
        raise UnavailableError from error


def _scopes(scope: str, granted: list[str]) -> list[str]:
    """The granted scopes that the request asks for; all of them if it names none."""
    if not granted:
        no_scope = "This client was granted no scope. Its operator can do that."
        raise MachineError(no_scope, error="unauthorized_client")
    chosen = space_delimited(scope) or granted
    if not set(chosen) <= set(granted):
        raise MachineError("A scope is unknown or not granted to this client.", error="invalid_scope")
    return chosen
