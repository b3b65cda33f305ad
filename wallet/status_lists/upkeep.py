"""Opens, closes and clears status lists: one open list in each slot, closed when it is half full.

Any instance may do it at any time: a constraint allows one open list per slot, and a conditional update
closes a list once.

In an open list expired entries stay as blank rows, so that no index is used twice. A closed list allocates no
more entries: its blank rows are deleted, and when it is empty it is retired.
"""

from datetime import datetime, timedelta

import structlog
from django.db import transaction

from infra.retention import Due, delete, pages
from wallet.models import StatusEntry, StatusList

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


KEPT = timedelta(hours=1)  # after the expiry, for relying parties whose clocks are slow
# An uncommitted transaction may still insert an entry for this long after a list was closed.
CLOSED_FOR = timedelta(hours=1)


def blank_ended(*, now: datetime, batch: int) -> int:
    """Blank the entries of expired credentials, and return their number.

    Each database transaction changes `batch` rows. Any number of runs may overlap.
    """
    (due,) = ended_entries(now)
    blank = {"credential": None, "signing_key": None, "reference": None, "status": 0, "expires_at": None}
    return sum(page.update(**blank) for page in pages(due.rows, by=due.by, batch=batch))


def ended_entries(now: datetime) -> list[Due]:
    """What `blank_ended` blanks."""
    return [Due(StatusEntry.objects.filter(expires_at__lte=now - KEPT), "expires_at", now - KEPT)]


def retire_closed(*, now: datetime, batch: int) -> int:
    """Delete the blank entries of closed lists, retire the empty lists, and return their number.

    Each database transaction deletes `batch` rows. Any number of runs may overlap.
    """
    retired = 0
    for row in StatusList.objects.filter(closed_at__lte=now - CLOSED_FOR, retired_at=None):
        delete(row.entries.filter(expires_at=None), by="idx", batch=batch)
        retired += _retire(row, now)
    return retired


def _retire(row: StatusList, now: datetime) -> int:
    if row.entries.order_by("idx").first():  # in the order of an index, or the whole table may be searched
        return 0
    retired = StatusList.objects.filter(pk=row.pk, retired_at=None).update(retired_at=now, token="")
    if retired:
        log.info("status_list_retired", status_list=row.pk)
    return retired
