"""Encrypts what a browser keeps: AES-256-GCM with a key for each text (HKDF, RFC 5869)."""

import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from credential_presentation.errors import Rejected
from credential_presentation.jose import decode, encode

PURPOSE = b"credential-presentation: a pending request"
SHORTEST_KEY, SALT, LONGEST = 32, 32, 4096


def seal(octets: bytes, key: str | bytes) -> str:
    """The encrypted octets as base64url. Raises `ValueError` if the key is too short."""
    salt = os.urandom(SALT)
    # The key is used once, so the initial value may be the same.
    return encode(salt + _cipher(key, salt).encrypt(bytes(12), octets, None))


def open_sealed(text: str, *keys: str | bytes) -> bytes:
    """What was sealed with one of the keys. Raises `Rejected` if it was not, or was changed."""
    octets = decode(text) if isinstance(text, str) and len(text) <= LONGEST else b""
    for key in keys:
        try:
            return _cipher(key, octets[:SALT]).decrypt(bytes(12), octets[SALT:], None)
        except InvalidTag:
            continue
    raise Rejected("state", "the request was not sealed with this key, or was changed")


def _cipher(key: str | bytes, salt: bytes) -> AESGCM:
    secret = key.encode() if isinstance(key, str) else bytes(key)
    if len(secret) < SHORTEST_KEY:
        raise ValueError("the key has fewer than 32 characters")
    return AESGCM(HKDF(SHA256(), 32, salt, PURPOSE).derive(secret))
