"""The active signing key, opened once per process; a rotation is noticed within seconds."""

from base64 import b64decode
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from time import monotonic
from typing import Any

from cryptography import x509
from django.db import connection

from infra import base64url
from infra.sealing import SealError
from keys.certificates.chain import BrokenChainError
from keys.jws import encode_segment
from keys.models import IdTokenKey, Key, SigningKey, StatementKey
from keys.private_keys.key_stores import signer_of
from keys.private_keys.signer import Signer, SignerUnavailableError


class NoSigningKeyError(Exception):
    """No signing key is active; `manage.py rotate_signing_keys` makes one where it can."""


# The errors of `active_issuer_key` and of its signer: nothing can be signed at the moment.
CANNOT_SIGN = (NoSigningKeyError, BrokenChainError, SealError, SignerUnavailableError)


@dataclass(frozen=True)
class IssuerKey:
    """An opened signing key: the facts for the header of its tokens, and the signer."""

    kid: str
    x5c: tuple[str, ...]  # leaf and issuing CA, for the token's header
    signer: Signer
    not_after: datetime  # no token that it signs may be valid for longer
    algorithm: str = "ES256"
    _headers: dict[str, str] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def authority_key_ids(self) -> frozenset[str]:
        """Key identifiers of the authorities in its chain, in base64url (OpenID4VP 1.0 §6.1.1.1)."""
        chain = [x509.load_der_x509_certificate(b64decode(certificate)) for certificate in self.x5c]
        named = [c.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value for c in chain]
        return frozenset(base64url.encode(value.key_identifier) for value in named if value.key_identifier)

    def header(self, typ: str) -> dict[str, Any]:
        """The JOSE header of a token of type `typ`."""
        return {"alg": self.algorithm, "typ": typ, "kid": self.kid, "x5c": list(self.x5c)}

    def header_segment(self, typ: str) -> str:
        """The `header` as an encoded segment for `jws.sign_segments`; encoded once per type."""
        segment = self._headers.get(typ)
        if segment is None:
            segment = self._headers[typ] = encode_segment(self.header(typ))
        return segment


REMEMBERED = 5.0  # seconds

# Every process runs this query every few seconds. The ORM would take several times as long as the query.
_ACTIVE = "SELECT id, certified_at FROM keys_signingkey WHERE state = 'active'"


@dataclass(frozen=True)
class _Known:
    """The key opened from this row of the database, used until `due` on the monotonic clock."""

    row: tuple[Any, ...]
    issuer_key: IssuerKey
    due: float


# Always replaced as a whole, so threads need no lock and no thread waits for another one's query.
_known: _Known | None = None


def active_issuer_key(*, now: datetime, fresh: bool = False) -> IssuerKey:
    """The key to sign with. Queries the database every REMEMBERED seconds, and again when the key changed.

    In between it may give a key that another instance has withdrawn. So callers check the key's state in the
    statement that records the signed token, and call this again with `fresh`. Raises NoSigningKeyError,
    BrokenChainError (also when a certificate has ended), SealError, SignerUnavailableError.
    """
    cached = _known
    if fresh or cached is None or monotonic() >= cached.due or now >= cached.issuer_key.not_after:
        cached = _queried(cached, now)
    if now >= cached.issuer_key.not_after:
        raise BrokenChainError(f"A certificate of signing key {cached.issuer_key.kid} has ended.")
    return cached.issuer_key


def statement_key(*, now: datetime) -> IssuerKey:
    """The key to sign statements with, from the database; raises the errors of `active_issuer_key`."""
    return _open(now, StatementKey)


def id_token_key(*, now: datetime) -> IssuerKey:
    """The key to sign ID tokens with RS256, from the database; raises the errors of `active_issuer_key`."""
    return _open(now, IdTokenKey)


def signs_with_rs256() -> bool:
    """Whether there is an RSA key that signs ID tokens."""
    return IdTokenKey.objects.filter(state=IdTokenKey.State.ACTIVE).exists()


def forget() -> None:
    """Has the next call query the database; called after a key changed its state in this process."""
    global _known
    _known = None


def _queried(cached: _Known | None, now: datetime) -> _Known:
    global _known
    due = monotonic() + REMEMBERED  # before the query, so that a slow query does not extend the cache
    with connection.cursor() as cursor:
        cursor.execute(_ACTIVE)
        row = cursor.fetchone()
    if row is None:
        _known = None
        raise NoSigningKeyError("No signing key is active.")
    issuer_key = cached.issuer_key if cached and cached.row == row else _open(now, SigningKey)
    fresh = _known = _Known(row, issuer_key, due)
    return fresh


def _open(now: datetime, kind: type[Key]) -> IssuerKey:
    key = kind._default_manager.filter(state=Key.State.ACTIVE).first()
    if key is None:
        raise NoSigningKeyError("No signing key is active.")
    chain = key.chain(at=now)
    return IssuerKey(str(key.id), tuple(chain.x5c), signer_of(key), chain.not_after, key.algorithm)
