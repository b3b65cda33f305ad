"""Whether a PID has been revoked (Token Status List §8.3).

The list is fetched only when nothing else is open, because that tells its issuer that somebody was verified.
"""

import zlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from infra import base64url
from infra.outbound.calls import Outbound, OutboundError
from infra.outbound.targets import TargetError, parse
from infra.waiting import waiting_for
from keys.jws import JwsError, take_apart
from wallet.providers.other_wallet.trust_anchors import TrustAnchors
from wallet.sd_jwt.issuance import SdJwtError

MEDIA_TYPE = "application/statuslist+jwt"
TYP = "statuslist+jwt"
LONGEST = 2 * 1024 * 1024  # bytes of a list's token
MOST_INFLATED = 8 * 1024 * 1024  # bytes of a list
LEEWAY = 60  # seconds that clocks may differ
VALID, REVOKED = 0, 1


class StatusUnknownError(Exception):
    """The status cannot be found out now; the text says why."""


def place_in(payload: Mapping[str, Any]) -> dict[str, Any]:
    """The place of the status, as JSON: empty without a status, without `uri` for other kinds of status."""
    if "status" not in payload:
        return {}
    status = payload["status"]
    place = status.get("status_list") if isinstance(status, dict) else None
    uri, idx = (place.get("uri"), place.get("idx")) if isinstance(place, dict) else (None, None)
    return {"uri": uri, "idx": idx} if isinstance(uri, str) and type(idx) is int else {"unknown": True}


def look_up(
    place: Mapping[str, Any], *, outbound: Outbound, anchors: TrustAnchors, country: str, now: datetime
) -> int:
    """The status at `place`, by a list signed in the same country. Raises `StatusUnknownError`."""
    uri = place.get("uri")
    if not isinstance(uri, str):
        raise StatusUnknownError("a kind of status that is not understood")
    try:
        token = _fetched(uri, outbound)
        unverified = take_apart(token, longest=LONGEST)
        issuer = anchors.issuer(unverified.header, now, lists=True)
        if issuer.country != country:
            raise StatusUnknownError("signed in another country")
        payload = unverified.verified(issuer.key, typ=TYP)
    except (JwsError, SdJwtError) as error:
        raise StatusUnknownError(str(error)) from error
    return status_in(payload, place, now)


def status_in(payload: Mapping[str, Any], place: Mapping[str, Any], now: datetime) -> int:
    """The status at `place`, by the verified payload of its list. Raises `StatusUnknownError`."""
    _check(payload, place["uri"], now)
    return _entry(payload.get("status_list"), place["idx"])


def _fetched(uri: str, outbound: Outbound) -> str:
    try:
        with waiting_for(parse(uri, loopback=True).authority):
            answer = outbound.get(uri, accept=MEDIA_TYPE)
    except (OutboundError, TargetError) as error:
        raise StatusUnknownError(str(error)) from error
    if answer.status != 200 or answer.content_type != MEDIA_TYPE or not answer.body.isascii():
        raise StatusUnknownError(f"status {answer.status}, or another media type")
    return answer.body.decode().strip()


def _check(payload: Mapping[str, Any], uri: str, now: datetime) -> None:
    if payload.get("sub") != uri:
        raise StatusUnknownError("sub is another list")
    moment = now.timestamp()
    for name in ("iat", "exp"):
        if type(payload.get(name, 0)) not in (int, float):
            raise StatusUnknownError(f"{name} is not a time")
    if payload.get("iat", 0) > moment + LEEWAY or payload.get("exp", moment) < moment - LEEWAY:
        raise StatusUnknownError("the list is not valid now")


def _entry(status_list: Any, idx: int) -> int:
    bits = status_list.get("bits") if isinstance(status_list, dict) else None
    if type(bits) is not int or bits not in (1, 2, 4, 8) or not isinstance(status_list.get("lst"), str):
        raise StatusUnknownError("not a status list")
    packed = _inflated(status_list["lst"])
    if not 0 <= idx < len(packed) * 8 // bits:
        raise StatusUnknownError("the place is not in the list")
    return packed[idx * bits // 8] >> (idx * bits % 8) & ((1 << bits) - 1)


def _inflated(text: str) -> bytes:
    inflater = zlib.decompressobj()
    try:
        packed = inflater.decompress(base64url.decode(text), MOST_INFLATED)
    except (ValueError, zlib.error):
        raise StatusUnknownError("the list is not compressed as it should be") from None
    if not inflater.eof or inflater.unused_data:
        raise StatusUnknownError("the list is cut off, or too long")
    return packed
