"""Values at rest: AES-256-GCM (NIST SP 800-38D) under KEY_SEALING_KEYS; the first seals, all open.

A sealed value is bound to its place by associated data, so ciphertexts cannot be swapped between rows.
Layout: version (1 byte), key id (4), nonce (12), ciphertext with tag.
"""

import os
from functools import lru_cache

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

_VERSION = b"\x01"
_KEY_ID, _NONCE, _TAG = 4, 12, 16
_HEADER = 1 + _KEY_ID + _NONCE
# Part of every derived key: with another value nothing that is sealed in a database opens any more.
_PURPOSE = b"keys.sealing"
MARK = 1 + _KEY_ID  # what a sealed value begins with: the same for all under one key


class SealError(Exception):
    """A sealed value does not open: no key fits, it was changed, or it belongs elsewhere."""


def seal(plain: bytes, *, context: str) -> bytes:
    """`plain` encrypted under the first sealing key, to be opened only with the same `context`.

    `context` names the place, as "<table>.<column>:<row id>".
    """
    key_id, cipher = _keyring(tuple(settings.KEY_SEALING_KEYS))[0]
    nonce = os.urandom(_NONCE)
    return _VERSION + key_id + nonce + cipher.encrypt(nonce, plain, context.encode())


def unseal(sealed: bytes | memoryview, *, context: str) -> bytes:
    """What was sealed for `context`; raises SealError when it does not open."""
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


def marks() -> list[bytes]:
    """What values sealed under each of KEY_SEALING_KEYS begin with, in their order."""
    return [_VERSION + key_id for key_id, _ in _keyring(tuple(settings.KEY_SEALING_KEYS))]


@lru_cache(maxsize=8)
def _keyring(secrets: tuple[str, ...]) -> tuple[tuple[bytes, AESGCM], ...]:
    """Key id and cipher of each secret, in order (HKDF-SHA256, RFC 5869)."""
    if not secrets:
        raise SealError("KEY_SEALING_KEYS is empty")
    derived = (HKDF(SHA256(), 32 + _KEY_ID, None, _PURPOSE).derive(s.encode()) for s in secrets)
    return tuple((okm[32:], AESGCM(okm[:32])) for okm in derived)
