"""Clean-up of expired entries. In an open list they stay as blank rows, so that no index is used twice.

A closed list allocates no more entries: its blank rows are deleted, and when it is empty it is retired.
"""

from datetime import datetime, timedelta

import structlog
from django.db.models import QuerySet

from wallet.models import StatusEntry, StatusList

log = structlog.get_logger(__name__)

KEPT = timedelta(hours=1)  # after the expiry, for relying parties whose clocks are slow
# An uncommitted transaction may still insert an entry for this long after a list was closed.
CLOSED_FOR = timedelta(hours=1)


def forget_ended(*, now: datetime, batch: int) -> int:
    """Blank the entries of expired credentials, and return their number.

    Each database transaction changes `batch` rows. Any number of runs may overlap.
    """
    ended = StatusEntry.objects.filter(expires_at__lte=now - KEPT)
    forgotten = 0
    blank = {"credential": None, "signing_key": None, "reference": None, "status": 0, "expires_at": None}
    while ids := _ids(ended, batch):
        forgotten += ended.filter(pk__in=ids).update(**blank)
    return forgotten


def retire_closed(*, now: datetime, batch: int) -> int:
    """Delete the blank entries of closed lists, retire the empty lists, and return their number.

    Each database transaction deletes `batch` rows. Any number of runs may overlap.
    """
    retired = 0
    for row in StatusList.objects.filter(closed_at__lte=now - CLOSED_FOR, retired_at=None):
        while ids := _ids(row.entries.filter(expires_at=None), batch):
            StatusEntry.objects.filter(pk__in=ids, expires_at=None).delete()
        retired += _retire(row, now)
    return retired


def _ids(rows: QuerySet[StatusEntry], batch: int) -> list[int]:
    return list(rows.order_by().values_list("pk", flat=True)[:batch])


def _retire(row: StatusList, now: datetime) -> int:
    if row.entries.exists():
        return 0
    retired = StatusList.objects.filter(pk=row.pk, retired_at=None).update(retired_at=now, token="")
    if retired:
        log.info("status_list_retired", status_list=row.pk)
    return retired
