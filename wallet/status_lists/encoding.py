"""The byte and text encoding of a status list (Token Status List §4). Pure."""

import zlib
from collections.abc import Mapping

from infra import base64url


def pack(statuses: Mapping[int, int], *, size: int, bits: int) -> bytes:
    """The bytes of a list of `size` entries of `bits` bits, all 0 but `statuses`, by index (§4.1).

    The lowest bits of a byte come first. Raises ValueError if the entries do not fill whole bytes, if an
    index is outside the list, or if a status needs more bits.
    """
    if bits not in (1, 2, 4, 8) or size <= 0 or size * bits % 8:
        raise ValueError("the entries do not fill whole bytes")
    packed = bytearray(size * bits // 8)
    for idx, status in statuses.items():
        if not 0 <= idx < size or status >> bits:
            raise ValueError("an entry does not fit into the list")
        packed[idx * bits // 8] |= status << (idx * bits % 8)
    return bytes(packed)


def compress(packed: bytes) -> str:
    """The `lst` of a token: DEFLATE in a ZLIB container, base64url."""
    return base64url.encode(zlib.compress(packed, level=9))
