"""Lists are opened and closed: an open one in each slot, none more than about half full.

Whoever finds that something is due may do it, at any time and any number at once: an open list per slot is
held by constraint, and a list is closed by a conditional update.
"""

from datetime import datetime

import structlog
from django.db import transaction

from wallet.models import StatusList

log = structlog.get_logger(__name__)

SLOTS = (0, 1)


def keep_open(*, now: datetime) -> tuple[int, int]:
    """Close what is half full and open a list in each slot that has none; how many were closed and opened."""
    closed = opened = 0
    with transaction.atomic():
        for row in StatusList.objects.filter(closed_at=None).order_by("id"):  # all in one order: no deadlock
            if _is_half_full(row):
                closed += StatusList.objects.filter(pk=row.pk, closed_at=None).update(closed_at=now)
        held = set(StatusList.objects.filter(closed_at=None).values_list("slot", flat=True))
        for slot in set(SLOTS) - held:
            StatusList.objects.bulk_create([StatusList(slot=slot, opened_at=now)], ignore_conflicts=True)
            opened += 1
    if closed or opened:
        log.info("status_lists_kept_open", closed=closed, opened=opened)
    return closed, opened


def _is_half_full(row: StatusList) -> bool:
    half = row.size // 2
    return row.entries.order_by()[:half].count() >= half
