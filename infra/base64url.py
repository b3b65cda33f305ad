"""Base64url without padding, in its canonical form only (RFC 4648 §5, §3.5; RFC 7515 §2). Pure."""

from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64
from collections.abc import Iterable

_URL_SAFE = bytes.maketrans(b"+/", b"-_")
# Characters of base64 that base64url lacks become a character that both lack, so that decoding fails.
_FROM_URL_SAFE = bytes.maketrans(b"-_+/=", b"+/!!!")
_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
# The last characters allowed, by the length modulo 4: unused bits must be 0 (RFC 4648 §3.5).
_LAST = {0: frozenset(_ALPHABET), 2: frozenset(_ALPHABET[::16]), 3: frozenset(_ALPHABET[::4])}


class Base64urlError(ValueError):
    """The text is not canonical base64url; the message gives the reason."""


def encode(data: bytes) -> str:
    """The data in base64url without padding."""
    return b2a_base64(data, newline=False).translate(_URL_SAFE, b"=").decode()


def encode_all(values: Iterable[bytes]) -> list[str]:
    """`encode` of each value."""
    return [b2a_base64(data, newline=False).translate(_URL_SAFE, b"=").decode() for data in values]


def decode(text: str) -> bytes:
    """The bytes that the text encodes; raises Base64urlError."""
    data, over = text.encode("ascii", "replace"), len(text) % 4
    try:
        decoded = a2b_base64(data.translate(_FROM_URL_SAFE) + b"=" * (-over % 4), strict_mode=True)
    except Base64Error:
        raise Base64urlError("not base64url") from None
    if data and data[-1] not in _LAST[over]:
        raise Base64urlError("not canonical base64url")
    return decoded
