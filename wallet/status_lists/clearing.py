"""Clean-up of expired entries. In an open list they stay as blank rows, so that no index is used twice.

A closed list allocates no more entries: its blank rows are deleted, and when it is empty it is retired.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

import structlog

from infra.retention import Due
from wallet.models import StatusEntry, StatusList

log = structlog.get_logger(__name__)

KEPT = timedelta(hours=1)  # after the expiry, for relying parties whose clocks are slow
# An uncommitted transaction may still insert an entry for this long after a list was closed.
CLOSED_FOR = timedelta(hours=1)
READ = 100  # batches of rows that one query finds


def blank_ended(*, now: datetime, batch: int) -> int:
    """Blank the entries of expired credentials, and return their number.

    Each database transaction changes `batch` rows. Any number of runs may overlap.
    """
    (due,) = ended_entries(now)
    ended, forgotten = due.rows, 0
    blank = {"credential": None, "signing_key": None, "reference": None, "status": 0, "expires_at": None}
    # A query passes the rows of the same hour that were blanked before it, so there are few queries.
    while found := list(ended.order_by("expires_at").values_list("pk", flat=True)[: READ * batch]):
        for ids in _portions(found, batch):
            forgotten += ended.filter(pk__in=ids).update(**blank)
    return forgotten


def ended_entries(now: datetime) -> list[Due]:
    """What `blank_ended` blanks."""
    return [Due(StatusEntry.objects.filter(expires_at__lte=now - KEPT), "expires_at", now - KEPT)]


def retire_closed(*, now: datetime, batch: int) -> int:
    """Delete the blank entries of closed lists, retire the empty lists, and return their number.

    Each database transaction deletes `batch` rows. Any number of runs may overlap.
    """
    retired = 0
    for row in StatusList.objects.filter(closed_at__lte=now - CLOSED_FOR, retired_at=None):
        blank = row.entries.filter(expires_at=None)
        while found := list(blank.order_by("idx").values_list("pk", flat=True)[: READ * batch]):
            for ids in _portions(found, batch):
                StatusEntry.objects.filter(pk__in=ids, expires_at=None).delete()
        retired += _retire(row, now)
    return retired


def _portions(ids: list[int], batch: int) -> Iterator[list[int]]:
    return (ids[at : at + batch] for at in range(0, len(ids), batch))


def _retire(row: StatusList, now: datetime) -> int:
    if row.entries.order_by("idx").first():  # in the order of an index, or the whole table may be searched
        return 0
    retired = StatusList.objects.filter(pk=row.pk, retired_at=None).update(retired_at=now, token="")
    if retired:
        log.info("status_list_retired", status_list=row.pk)
    return retired
