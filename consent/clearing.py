"""Deletes unanswered questions, and erases the content of transactions after their retention time."""

import uuid
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db.models import Q, QuerySet

from consent.models import Consent
from infra.retention import Due, delete, pages

UNANSWERED_KEPT = timedelta(days=1)  # after the question expired


def clear_unanswered(*, now: datetime, batch: int) -> int:
    """Delete unanswered questions that expired `UNANSWERED_KEPT` ago, and return their number.

    Each database transaction deletes `batch` rows. A question to which another table refers is kept until
    the reference is gone.
    """
    return sum(delete(due.rows, by=due.by, batch=batch, where=due.where) for due in unanswered(now))


def unanswered(now: datetime) -> list[Due]:
    """What `clear_unanswered` deletes."""
    unreferenced = {f"{relation.name}__isnull": True for relation in Consent._meta.related_objects}
    before = now - UNANSWERED_KEPT
    rows = Consent.objects.filter(decision=Consent.Decision.ASKED, expires_at__lt=before)
    return [Due(rows, "expires_at", before, where=Q(**unreferenced))]


def note_undelivered(consents: Iterable[uuid.UUID], *, now: datetime) -> None:
    """Store of many consents at once what `decisions.note_undelivered` stores of one."""
    granted = Consent.objects.filter(decision=Consent.Decision.GRANTED, undelivered_at=None)
    granted.filter(id__in=list(consents)).update(undelivered_at=now)


def erase_transactions(*, asked_before: datetime, now: datetime, batch: int) -> int:
    """Erase the content of transactions in records of questions asked before `asked_before`.

    Returns the number of records; each database transaction erases `batch` of them. The question and the
    answer stay, with the type and the hash of each transaction. A concurrent `reseal` does not restore the
    content, because it replaces only the value that it has read.
    """
    erased = 0
    for page in pages(with_transactions(asked_before), by="asked_at", batch=batch):
        erased += page.update(sealed_transactions=None, erased_at=now)
    return erased


def with_transactions(asked_before: datetime) -> QuerySet[Consent]:
    """The records of questions asked before that moment that still have the content of transactions."""
    return Consent.objects.filter(asked_at__lt=asked_before, sealed_transactions__isnull=False)


def years_before(now: datetime, years: int) -> datetime:
    """`now` so many calendar years earlier; 28 February where that year has no 29 February."""
    try:
        return now.replace(year=now.year - years)
    except ValueError:
        return now.replace(year=now.year - years, day=28)
