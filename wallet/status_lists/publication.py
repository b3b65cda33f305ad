"""The published tokens of the status lists, signed by any instance and stored for all of them.

Every few seconds, one instance checks a list; a conditional update decides which. It signs a new token if the
content, the address or the signing key has changed, or if the token is older than half of its `ttl`.
"""

import hashlib
import json
from datetime import datetime, timedelta

import structlog
from django.db.models import Q
from django.utils import timezone

from infra.published.documents import NothingToPublishError
from keys.issuer_key import CANNOT_SIGN, active_issuer_key
from keys.models import SigningKey
from wallet.models import StatusList
from wallet.status_lists import allocation, statuses, token

log = structlog.get_logger(__name__)

CHECKED_EVERY = timedelta(seconds=5)
SIGNED_EVERY = token.TTL / 2


def published() -> list[int]:
    """The IDs of the lists that are not retired."""
    rows = StatusList.objects.filter(retired_at=None).order_by("id")
    return list(rows.values_list("id", flat=True))


def aggregation() -> bytes:
    """The addresses of all published lists (§9.3), as JSON."""
    return json.dumps({"status_lists": [allocation.address(list_id) for list_id in published()]}).encode()


def current(list_id: int, *, fresh: bool = False) -> bytes:
    """The token of the list to serve now. fresh: with every change until now, and not only until lately.

    Raises NothingToPublishError if there is no such list, or if no valid token can be signed or served.
    """
    now = timezone.now()
    row = _find(list_id)
    is_good = not fresh and not _claim(row, now)
    if is_good and _signed_after(row, now - token.TTL) and _has_not_ended(row, now):
        return row.token.encode()  # another instance is checking it, or has just done so
    try:
        return _renewed(row, now).encode()
    except CANNOT_SIGN:
        log.exception("status_list_not_signed", status_list=row.pk)
        keys = SigningKey.objects.exclude(state=SigningKey.State.WITHDRAWN).values_list("id", flat=True)
        if _has_not_ended(row, now) and row.kid in keys:
            return row.token.encode()
        raise NothingToPublishError("The status list cannot be signed at the moment.", status=503) from None


def _find(list_id: int) -> StatusList:
    row = StatusList.objects.filter(pk=list_id, retired_at=None).first()
    if row is None:
        raise NothingToPublishError("There is no such status list.")
    return row


def _signed_after(row: StatusList, moment: datetime) -> bool:
    return row.signed_at is not None and row.signed_at > moment


def _has_not_ended(row: StatusList, now: datetime) -> bool:
    """Whether `exp` is in the future; it can be earlier than LIFETIME, with the key's certificates."""
    return bool(row.token) and token.ends_at(row.token) > now.timestamp()


def _claim(row: StatusList, now: datetime) -> bool:
    """Whether this instance has to check the list now. A time in the future comes from a wrong clock."""
    just_now = (now - CHECKED_EVERY, now + CHECKED_EVERY)
    if row.checked_at and just_now[0] < row.checked_at < just_now[1]:
        return False
    due = Q(checked_at=None) | Q(checked_at__lte=just_now[0]) | Q(checked_at__gte=just_now[1])
    if StatusList.objects.filter(due, pk=row.pk).update(checked_at=now) == 1:
        row.checked_at = now
        return True
    row.refresh_from_db()
    return False


def _renewed(row: StatusList, now: datetime) -> str:
    """The stored token, or a new one if that is due."""
    packed = token.pack(statuses.not_valid(row.pk, now=now), size=row.size, bits=token.BITS)
    # The token names the address: after a move to another domain a new one is signed at once.
    content = hashlib.sha256(allocation.address(row.pk).encode() + b"\n" + packed).hexdigest()
    key = active_issuer_key(now=now, fresh=True)
    as_signed = (row.content, str(row.kid)) == (content, key.kid)
    if as_signed and _signed_after(row, now - SIGNED_EVERY):
        return row.token
    signed = token.signed(row.pk, packed, issuer_key=key, now=now)
    # If another instance has checked the list since, `checked_at` differs: keep its token, which is newer.
    unclaimed = StatusList.objects.filter(pk=row.pk, checked_at=row.checked_at)
    if not unclaimed.update(token=signed, content=content, kid=key.kid, signed_at=now):
        row = _find(row.pk)
        return row.token or signed
    log.info("status_list_signed", status_list=row.pk, kid=key.kid, characters=len(signed))
    return signed
