"""The signed token of a status list (Token Status List §5), and the encoding of the list in it (§4)."""

import zlib
from collections.abc import Mapping
from datetime import datetime, timedelta

from django.conf import settings

from infra import base64url
from keys.issuer_key import IssuerKey
from keys.jws import decode_segment, encode_segment, sign_segments
from wallet.status_lists.allocation import PATH, address

TYP = "statuslist+jwt"
BITS = 2
TTL = timedelta(minutes=5)  # for how long relying parties may cache the list
LIFETIME = timedelta(hours=4)  # until `exp`, even if no new token can be signed


def ends_at(signed: str | bytes) -> float:
    """The `exp` of a token that this service signed, in seconds since 1970."""
    text = signed.decode() if isinstance(signed, bytes) else signed
    return float(decode_segment(text.split(".")[1])["exp"])


def signed(list_id: int, packed: bytes, *, issuer_key: IssuerKey, now: datetime) -> str:
    """The list's token, signed by `issuer_key`, whose certificates it does not outlive."""
    payload = {
        "sub": address(list_id),
        "iat": int(now.timestamp()),
        "exp": int(min(now + LIFETIME, issuer_key.not_after).timestamp()),
        "ttl": int(TTL.total_seconds()),
        "status_list": {
            "bits": BITS,
            "lst": compress(packed),
            "aggregation_uri": settings.BASE_URL + PATH,
        },
    }
    return sign_segments(issuer_key.header_segment(TYP), encode_segment(payload), issuer_key.signer)


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
