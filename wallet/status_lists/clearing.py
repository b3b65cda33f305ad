"""Clean-up of expired entries. In an open list they stay as blank rows, so that no index is used twice.

A closed list allocates no more entries: its blank rows are deleted, and when it is empty it is retired.
"""

from datetime import datetime, timedelta

import structlog

from infra.retention import Due, delete, pages
from wallet.models import StatusEntry, StatusList

log = structlog.get_logger(__name__)

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
