"""The key that signs now, opened once per process and followed through rotations."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import connection

from keys.certificate_chain import BrokenChainError
from keys.jws import encode_segment
from keys.models import SigningKey
from keys.sealing import unseal
from keys.signer import Signer, SoftwareSigner


class NoSigningKeyError(Exception):
    """No signing key is active; `manage.py rotate_signing_keys` makes one where it can."""


@dataclass(frozen=True)
class IssuerKey:
    """An opened signing key: what its tokens say about it, and what signs them."""

    kid: str
    x5c: tuple[str, ...]  # leaf and issuing CA, for the token's header
    signer: Signer
    not_after: datetime  # nothing it signs may be valid beyond
    _headers: dict[str, str] = field(default_factory=dict, repr=False, compare=False)

    def header(self, typ: str) -> dict[str, Any]:
        """The JOSE header of a token of kind `typ`."""
        return {"alg": "ES256", "typ": typ, "kid": self.kid, "x5c": list(self.x5c)}

    def header_segment(self, typ: str) -> str:
        """The same, encoded for `jws.sign_segments`, once per kind."""
        segment = self._headers.get(typ)
        if segment is None:
            segment = self._headers[typ] = encode_segment(self.header(typ))
        return segment


# Asked for every token, so in plain SQL: the ORM costs several times what the question costs.
_ACTIVE = "SELECT id, certified_at FROM keys_signingkey WHERE state = 'active'"

# The last key opened and the row it came from. One tuple, replaced whole: threads need no lock.
_opened: tuple[tuple[Any, ...], IssuerKey] | None = None


def active_issuer_key(*, now: datetime, fresh: bool = False) -> IssuerKey:
    """The key to sign with; one query, and a second one only when this process has not opened it yet.

    `fresh`: as the database has it now, whatever this process remembers (so far it always asks).
    Raises NoSigningKeyError, BrokenChainError (also when a certificate has ended), SealError.
    """
    global _opened
    with connection.cursor() as cursor:
        cursor.execute(_ACTIVE)
        row = cursor.fetchone()
    if row is None:
        raise NoSigningKeyError("No signing key is active.")
    opened = _opened
    if opened is None or opened[0] != row:
        opened = _opened = (row, _open(now))
    if now >= opened[1].not_after:
        raise BrokenChainError(f"A certificate of signing key {opened[1].kid} has ended.")
    return opened[1]


def signer_of(key: SigningKey) -> SoftwareSigner:
    """What signs with this key; raises SealError when its private key does not open."""
    return SoftwareSigner.from_der(unseal(key.sealed_private_key, context=key.sealing_context))


def _open(now: datetime) -> IssuerKey:
    key = SigningKey.objects.filter(state=SigningKey.State.ACTIVE).first()
    if key is None:
        raise NoSigningKeyError("No signing key is active.")
    chain = key.chain(at=now)
    return IssuerKey(str(key.id), tuple(chain.x5c), signer_of(key), chain.not_after)
