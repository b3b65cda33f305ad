"""Signed statements of this service (JWS, RFC 7515): what it says it saw, to be checked years later.

Each kind has a `typ` of its own. Keys that sign nothing else sign them, so that no verifier takes a statement
for a credential, or such a key for an issuer's.
"""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from django.conf import settings

from keys.certificates.chain import MAX_CERTIFICATES, UNREADABLE, BrokenChainError
from keys.certificates.names import is_for_host
from keys.certificates.path import PathError, anchor_above, certificates_in
from keys.issuer_key import statement_key
from keys.jwk import public_key_from_der
from keys.jws import JwsError, decode_segment, encode_segment, sign_segments, take_apart
from keys.models import StatementKey

_MOST_BELOW = MAX_CERTIFICATES - 1  # certificates below the root


class StatementError(ValueError):
    """A statement is not genuine; the text says why."""


def sign(typ: str, facts: Mapping[str, Any], *, now: datetime, with_chain: bool) -> str:
    """The statement. with_chain: its header has the certificates, so that it needs no key set.

    Raises the errors of CANNOT_SIGN.
    """
    key = statement_key(now=now)
    header = key.header(typ)
    if not with_chain:
        del header["x5c"]
    payload = {"iss": settings.BASE_URL, "iat": int(now.timestamp()), **facts}
    return sign_segments(encode_segment(header), encode_segment(payload), key.signer)


def read(token: str, typ: str, *, longest: int) -> dict[str, Any]:
    """What a statement of this service says. Its key must be published, with a chain that was valid then.

    Raises StatementError.
    """
    try:
        unverified = take_apart(token, longest=longest)
        key = _published(unverified.header.get("kid"))
        stated = unverified.verified(public_key_from_der(key.public_key), typ=typ)
        # A chain may have been renewed since, as it can while the key signs.
        key.chain(at=max(time_of(stated), key.certified_at or time_of(stated)))
    except (JwsError, BrokenChainError) as error:
        raise StatementError(str(error)) from error
    return stated


def _published(kid: Any) -> StatementKey:
    try:
        return StatementKey.objects.exclude(state=StatementKey.State.WITHDRAWN).get(pk=UUID(kid))
    except (TypeError, ValueError, AttributeError, StatementKey.DoesNotExist):
        raise StatementError("no published key for statements has this kid") from None


def read_offline(
    token: str, typ: str, *, roots: Collection[x509.Certificate], longest: int, at: datetime | None = None
) -> dict[str, Any]:
    """What a token with `x5c` says, by its certificates at the time that it names, or `at`; no database.

    Raises StatementError.
    """
    try:
        unverified = take_apart(token, longest=longest)
        said = decode_segment(unverified.payload_segment)
        issuer = said.get("iss") or said.get("sub")  # a status list names its own address
        key = vouched_for(unverified.header, issuer, roots=roots, at=at or time_of(said))
        return unverified.verified(key, typ=typ)
    except JwsError as error:
        raise StatementError(str(error)) from error


def vouched_for(
    header: Mapping[str, Any], issuer: Any, *, roots: Collection[x509.Certificate], at: datetime
) -> ec.EllipticCurvePublicKey:
    """The key whose certificates in `x5c` lead to one of `roots` and are for the host of `issuer`.

    Raises StatementError.
    """
    try:
        chain = certificates_in(header.get("x5c"), most=_MOST_BELOW)
        anchor_above(chain, roots, at, most_between=_MOST_BELOW - 1)
        key, fits = chain[0].public_key(), is_for_host(chain[0], issuer)
    except (PathError, Warning, *UNREADABLE) as error:
        raise StatementError(str(error)) from error
    if not fits:
        raise StatementError("its certificate is not for this issuer")
    if not isinstance(key, ec.EllipticCurvePublicKey):
        raise StatementError("its key is not on an elliptic curve")
    return key


def time_of(stated: Mapping[str, Any]) -> datetime:
    """When it was signed; raises StatementError."""
    iat = stated.get("iat")
    if type(iat) is not int or not 0 <= iat < 2**33:
        raise StatementError("iat is not a time")
    return datetime.fromtimestamp(iat, UTC)
