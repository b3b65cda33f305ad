"""A status list as bytes and as text (Token Status List §4). Pure."""

import zlib
from collections.abc import Mapping

from infra import base64url


def pack(statuses: Mapping[int, int], *, size: int, bits: int) -> bytes:
    """A list of `size` entries of `bits` each, all 0 but `statuses`; the lowest bits of a byte come first.

    Raises ValueError for a size that does not fill its bytes, an index outside the list and a status that
    `bits` cannot hold.
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
