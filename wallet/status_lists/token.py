"""The signed token of a status list (Token Status List §5)."""

from datetime import datetime, timedelta

from django.conf import settings

from keys.issuer_key import IssuerKey
from keys.jws import decode_segment, encode_segment, sign_segments
from wallet.status_lists import encoding
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
            "lst": encoding.compress(packed),
            "aggregation_uri": settings.BASE_URL + PATH,
        },
    }
    return sign_segments(issuer_key.header_segment(TYP), encode_segment(payload), issuer_key.signer)
