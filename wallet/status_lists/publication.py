"""What is published of the lists: a token each, signed by whichever instance finds that it is due.

Every few seconds one instance looks at a list on behalf of all (a conditional update decides which), and
signs it anew when its content, the signing key or half of its `ttl` says so. All serve what is stored.
"""

import hashlib
import json
from datetime import datetime, timedelta

import structlog
from django.db.models import Q
from django.utils import timezone

from infra.published.documents import NothingToPublishError
from infra.sealing import SealError
from keys.certificates.chain import BrokenChainError
from keys.issuer_key import NoSigningKeyError, active_issuer_key
from keys.models import SigningKey
from keys.private_keys.signer import SignerUnavailableError
from wallet.models import StatusList
from wallet.status_lists import encoding, standing, token

log = structlog.get_logger(__name__)

LOOKED_AT_EVERY = timedelta(seconds=5)
SIGNED_EVERY = token.TTL / 2


def published() -> list[int]:
    """The lists that are not retired."""
    rows = StatusList.objects.filter(retired_at=None).order_by("id")
    return list(rows.values_list("id", flat=True))


def aggregation() -> bytes:
    """The addresses of all published lists (§9.3), as JSON."""
    return json.dumps({"status_lists": [token.address(list_id) for list_id in published()]}).encode()


def current(list_id: int) -> bytes:
    """The list's token as it is to be served now.

    Raises NothingToPublishError when there is no such list, or none that may be served.
    """
    now = timezone.now()
    row = _find(list_id)
    if not _claim(row, now) and _signed_after(row, now - token.TTL) and _has_not_ended(row, now):
        return row.token.encode()  # another instance is looking, or has just looked
    try:
        return _renewed(row, now).encode()
    except (NoSigningKeyError, BrokenChainError, SealError, SignerUnavailableError):
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
    """Before `exp`, which is earlier than LIFETIME says when a certificate of the key ends earlier."""
    return bool(row.token) and token.ends_at(row.token) > now.timestamp()


def _claim(row: StatusList, now: datetime) -> bool:
    """Whether it is this instance that looks now. A look from the future is another clock's mistake."""
    just_now = (now - LOOKED_AT_EVERY, now + LOOKED_AT_EVERY)
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
    packed = encoding.pack(standing.not_valid(row.pk, now=now), size=row.size, bits=token.BITS)
    content = hashlib.sha256(packed).hexdigest()
    key = active_issuer_key(now=now, fresh=True)
    as_signed = (row.content, str(row.kid)) == (content, key.kid)
    if as_signed and _signed_after(row, now - SIGNED_EVERY):
        return row.token
    signed = token.signed(row.pk, packed, issuer_key=key, now=now)
    # Whoever looked later knows better: what a slow instance found out is not written over that.
    unclaimed = StatusList.objects.filter(pk=row.pk, checked_at=row.checked_at)
    if not unclaimed.update(token=signed, content=content, kid=key.kid, signed_at=now):
        row = _find(row.pk)
        return row.token or signed
    log.info("status_list_signed", status_list=row.pk, kid=key.kid, characters=len(signed))
    return signed
