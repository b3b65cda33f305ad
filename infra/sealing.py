"""Encrypts values at rest: AES-256-GCM (NIST SP 800-38D) under KEY_SEALING_KEYS. The first key seals.

Associated data binds a sealed value to its column and row, so ciphertexts cannot be swapped between rows.
Layout: version (1 byte), key id (4), nonce (12), ciphertext with tag.
"""

import os
from functools import lru_cache
from hashlib import sha256
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

_VERSION = b"\x01"
_KEY_ID, _NONCE, _TAG = 4, 12, 16
_HEADER = 1 + _KEY_ID + _NONCE
# Part of every key derivation: with another value no sealed value can be opened any more.
_PURPOSE = b"keys.sealing"
MARK = 1 + _KEY_ID  # bytes at the beginning of a sealed value that identify the sealing key


def sha256_hex(secret: str) -> str:
    """The digest that is stored in place of a secret; safe only for one that cannot be guessed."""
    return sha256(secret.encode()).hexdigest()


class SealError(Exception):
    """A sealed value cannot be opened: its key is missing, or it was changed or moved."""


def seal(plain: bytes, *, context: str) -> bytes:
    """Encrypts under the first sealing key; the value opens only with the same `context`.

    `context` is the associated data, "<table>.<column>:<row id>". Raises SealError without a key.
    """
    key_id, cipher = _keyring(tuple(settings.KEY_SEALING_KEYS))[0]
    nonce = os.urandom(_NONCE)
    return _VERSION + key_id + nonce + cipher.encrypt(nonce, plain, context.encode())


def unseal(sealed: bytes | memoryview, *, context: str) -> bytes:
    """The value that was sealed with this `context`; raises SealError."""
    sealed = bytes(sealed)
    if sealed[:1] != _VERSION or len(sealed) < _HEADER + _TAG:
        raise SealError(f"{context} does not hold a sealed value")
    sealed_under, nonce, ciphertext = sealed[1:5], sealed[5:_HEADER], sealed[_HEADER:]
    fitting = [c for key_id, c in _keyring(tuple(settings.KEY_SEALING_KEYS)) if key_id == sealed_under]
    if not fitting:
        raise SealError(f"{context} was sealed under a key that is not among KEY_SEALING_KEYS")
    for cipher in fitting:
        try:
            return cipher.decrypt(nonce, ciphertext, context.encode())
        except InvalidTag:
            continue
    raise SealError(f"{context} was changed after it was sealed, or belongs elsewhere")


def seal_column(row: Any, column: str, plain: bytes) -> bytes:
    """Encrypts a value for a column of this row, which `SEALED` of the model names; raises SealError."""
    return seal(plain, context=_context(row, column))


def unseal_column(row: Any, column: str) -> bytes:
    """The value in a sealed column of this row; raises SealError."""
    return unseal(getattr(row, column) or b"", context=_context(row, column))


def _context(row: Any, column: str) -> str:
    return str(row.SEALED[column].format(pk=row.pk))


def marks() -> list[bytes]:
    """The marks of KEY_SEALING_KEYS, with which sealed values begin, in the same order."""
    return [_VERSION + key_id for key_id, _ in _keyring(tuple(settings.KEY_SEALING_KEYS))]


@lru_cache(maxsize=8)
def _keyring(secrets: tuple[str, ...]) -> tuple[tuple[bytes, AESGCM], ...]:
    """The key id and the cipher of each secret, in the same order (HKDF-SHA256, RFC 5869)."""
    if not secrets:
        raise SealError("KEY_SEALING_KEYS is empty")
    derived = (HKDF(SHA256(), 32 + _KEY_ID, None, _PURPOSE).derive(s.encode()) for s in secrets)
    return tuple((okm[32:], AESGCM(okm[:32])) for okm in derived)
