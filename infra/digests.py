"""The digest that is stored in place of a random secret. Pure."""

from hashlib import sha256


def sha256_hex(secret: str) -> str:
    """The SHA-256 in hexadecimal digits. Safe without a key only for a secret that cannot be guessed."""
    return sha256(secret.encode()).hexdigest()
