"""Base64url without padding, in its canonical form only (RFC 4648 §5, §3.5; RFC 7515 §2). Pure."""

from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64

_URL_SAFE = bytes.maketrans(b"+/", b"-_")
# What base64 has and base64url has not becomes what neither has.
_FROM_URL_SAFE = bytes.maketrans(b"-_+/=", b"+/!!!")
_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
# What a text may end with, by its length modulo 4: the bits that stand for nothing are 0 (RFC 4648 §3.5).
_LAST = {0: frozenset(_ALPHABET), 2: frozenset(_ALPHABET[::16]), 3: frozenset(_ALPHABET[::4])}


class Base64urlError(ValueError):
    """A text is not base64url as this service accepts it; the text of the error says why."""


def encode(data: bytes) -> str:
    """The shortest way to it, because every claim takes it twice."""
    return b2a_base64(data, newline=False).translate(_URL_SAFE, b"=").decode()


def decode(text: str) -> bytes:
    """The bytes; raises Base64urlError."""
    data, over = text.encode("ascii", "replace"), len(text) % 4
    try:
        found = a2b_base64(data.translate(_FROM_URL_SAFE) + b"=" * (-over % 4), strict_mode=True)
    except Base64Error:
        raise Base64urlError("not base64url") from None
    if data and data[-1] not in _LAST[over]:
        raise Base64urlError("not canonical base64url")
    return found
