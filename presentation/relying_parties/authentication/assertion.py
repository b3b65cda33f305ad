"""Client assertions: JWTs with which a relying party authenticates (RFC 7523 §3, 7523bis). Pure.

The caller checks that the `jti` was not used before.
"""

import re
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from keys.jws import JwsError, audiences_in, decode_segment
from presentation.machine_errors import InvalidClientError
from presentation.parameters import LIMITS
from presentation.relying_parties.authentication.signed_jwt import (
    LEEWAY,
    ClientJwtError,
    FindKeys,
    check_times,
    signed_claims,
    times,
)

TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
LIFETIME = timedelta(hours=1)  # the latest `exp`, from now; also how long a `jti` is stored
LONGEST = 8192  # characters
_LONGEST_JTI = 256
_CLIENT_ID = re.compile(f"[!-~]{{1,{LIMITS['client_id']}}}")
# Most libraries send `JWT` or no `typ`. Tokens of other kinds are refused (RFC 8725 §3.11).
_TYPES = (None, "JWT", "client-authentication+jwt")


def unverified_subject(assertion: str) -> str:
    """The client ID in `sub`, before the signature is verified; raises InvalidClientError."""
    if len(assertion) > LONGEST or assertion.count(".") != 2:
        raise InvalidClientError("The client assertion is not a JWT.")
    try:
        subject = decode_segment(assertion.split(".")[1]).get("sub")
    except JwsError:
        raise InvalidClientError("The client assertion is not a JWT.") from None
    # Unauthenticated input for a database query, so accept only what a client ID may look like.
    if not isinstance(subject, str) or not _CLIENT_ID.fullmatch(subject):
        raise InvalidClientError("The client assertion names no client as its subject (sub).")
    return subject


def verify(
    assertion: str, *, client_id: str, find_keys: FindKeys, audiences: Collection[str], now: datetime
) -> tuple[str, datetime]:
    """Verifies signature, times, issuer, subject and audience; raises InvalidClientError.

    Gives its `jti`, which must not have been used before, and when the assertion expires.

    audiences: accepted values of `aud`. With one of them, the issuer, it must be that string alone
    (FAPI 2.0 Security Profile §5.3.2.1): a client that names others beside it may be sending the assertion
    to one of them. With several, for older clients, `aud` may also be an array with one of them.
    """
    try:
        claims = signed_claims(assertion, find_keys, types=_TYPES)
        moments = times(claims)
        if "exp" not in moments:
            raise InvalidClientError("The client assertion has no end (exp).")
        check_times(moments, lifetime=LIFETIME, now=now)
    except ClientJwtError as error:
        raise InvalidClientError(f"The client assertion {error}.") from error
    if claims.get("iss") != client_id or claims.get("sub") != client_id:
        raise InvalidClientError("Both iss and sub must be the client_id.")
    if not _is_meant_for(claims, audiences):
        raise InvalidClientError("The audience (aud) must be the issuer, as a single string.")
    jti = claims.get("jti")
    if not isinstance(jti, str) or not 0 < len(jti) <= _LONGEST_JTI or "\0" in jti:
        raise InvalidClientError("A jti of at most 256 characters, without NUL, is needed.")
    return jti, datetime.fromtimestamp(moments["exp"], UTC) + LEEWAY


def _is_meant_for(claims: Mapping[str, Any], audiences: Collection[str]) -> bool:
    if len(audiences) == 1 and not isinstance(claims.get("aud"), str):
        return False
    return any(named in audiences for named in audiences_in(claims))
