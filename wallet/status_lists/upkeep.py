"""Opens and closes status lists: one open list in each slot, closed when it is half full.

Any instance may do it at any time: a constraint allows one open list per slot, and a conditional update
closes a list once.
"""

from datetime import datetime

import structlog
from django.db import transaction

from wallet.models import StatusList

log = structlog.get_logger(__name__)

SLOTS = (0, 1)


def keep_open(*, now: datetime) -> tuple[int, int]:
    """Close half-full lists, open a list in each empty slot, and return both numbers."""
    closed = opened = 0
    with transaction.atomic():
        for row in StatusList.objects.filter(closed_at=None).order_by("id"):  # in one order: no deadlocks
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
