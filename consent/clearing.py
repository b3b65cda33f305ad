"""Erases the content of transactions after their retention time. `retention` deletes unanswered questions."""

from datetime import datetime

from django.conf import settings

from consent.models import Consent
from infra.retention import Due, pages


def erase_transactions(*, now: datetime, batch: int) -> int:
    """Erase the content of transactions in records of questions asked so many years ago.

    Returns the number of records; each database transaction erases `batch` of them. The question and the
    answer stay, with the type and the hash of each transaction. A concurrent `reseal` does not restore the
    content, because it replaces only the value that it has read.
    """
    (due,) = old_transactions(now)
    found = pages(due.rows, by=due.by, batch=batch)
    return sum(page.update(sealed_transactions=None, erased_at=now) for page in found)


def old_transactions(now: datetime) -> list[Due]:
    """What `erase_transactions` erases."""
    before = years_before(now, settings.TRANSACTION_RETENTION_YEARS)
    rows = Consent.objects.filter(asked_at__lte=before, sealed_transactions__isnull=False)
    return [Due(rows, "asked_at", before)]


def years_before(now: datetime, years: int) -> datetime:
    """`now` so many calendar years earlier; 28 February where that year has no 29 February."""
    try:
        return now.replace(year=now.year - years)
    except ValueError:
        return now.replace(year=now.year - years, day=28)
