"""Forgetting what has ended. Of an open list the spent places stay, blank, so that none is given twice.

A closed list gives no places any more: its rows go, and once the last is gone it is retired.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from django.db.models import QuerySet

from wallet.models import StatusEntry, StatusList

log = structlog.get_logger(__name__)

KEPT = timedelta(hours=1)  # beyond the end, for relying parties whose clocks are behind
# So long a place of a list that was just closed may still be on its way into the database.
CLOSED_FOR = timedelta(hours=1)


@dataclass(frozen=True)
class Swept:
    """How many ended credentials were forgotten, how many rows went, how many lists were retired."""

    forgotten: int
    deleted: int
    retired: int


def sweep(*, now: datetime, batch: int) -> Swept:
    """Do whatever is due, `batch` rows per transaction; may be stopped, and run any number at once."""
    forgotten = forget_ended(now=now, batch=batch)
    deleted, retired = retire_closed(now=now, batch=batch)
    return Swept(forgotten, deleted, retired)


def forget_ended(*, now: datetime, batch: int) -> int:
    """Blank the entries of credentials that have ended; returns their number."""
    ended = StatusEntry.objects.filter(expires_at__lte=now - KEPT)
    forgotten = 0
    blank = {"credential": None, "signing_key": None, "reference": None, "status": 0, "expires_at": None}
    while ids := _ids(ended, batch):
        forgotten += ended.filter(pk__in=ids).update(**blank)
    return forgotten


def retire_closed(*, now: datetime, batch: int) -> tuple[int, int]:
    """Delete the blank entries of closed lists and retire those that are empty; how many of each."""
    deleted = retired = 0
    for row in StatusList.objects.filter(closed_at__lte=now - CLOSED_FOR, retired_at=None):
        while ids := _ids(row.entries.filter(expires_at=None), batch):
            deleted += StatusEntry.objects.filter(pk__in=ids, expires_at=None).delete()[0]
        retired += _retire(row, now)
    return deleted, retired


def _ids(rows: QuerySet[StatusEntry], batch: int) -> list[int]:
    return list(rows.order_by().values_list("pk", flat=True)[:batch])


def _retire(row: StatusList, now: datetime) -> int:
    if row.entries.exists():
        return 0
    retired = StatusList.objects.filter(pk=row.pk, retired_at=None).update(retired_at=now, token="")
    if retired:
        log.info("status_list_retired", status_list=row.pk)
    return retired
