"""Deletes questions that nobody answered, and erases what old transactions said after the retention time."""

from datetime import datetime, timedelta

from django.db.models import QuerySet

from consent.models import Consent

UNANSWERED_KEPT = timedelta(days=1)  # after it lapsed


def clear_unanswered(*, lapsed_before: datetime, batch: int) -> int:
    """Delete unanswered questions that lapsed before then, `batch` per transaction; gives their number.

    A question that another table still refers to waits until the reference is gone.
    """
    cleared = 0
    while ids := list(_unanswered(lapsed_before).values_list("id", flat=True)[:batch]):
        deleted, _ = _unanswered(lapsed_before).filter(id__in=ids).delete()
        cleared += deleted
    return cleared


def erase_transactions(*, asked_before: datetime, now: datetime, batch: int) -> int:
    """Erase what transactions said in records of questions put before `asked_before`; returns their number.

    Each database transaction erases `batch` records.

    That the holder was asked and what they answered stays, with the type and the hash of each transaction.
    A run of `reseal` at the same time puts nothing back: it replaces only the value that it has read.
    """
    erased = 0
    old = Consent.objects.filter(asked_at__lt=asked_before, sealed_transactions__isnull=False)
    while ids := list(old.order_by("asked_at").values_list("id", flat=True)[:batch]):
        erased += old.filter(id__in=ids).update(sealed_transactions=None, erased_at=now)
    return erased


def years_before(now: datetime, years: int) -> datetime:
    """The same moment so many calendar years earlier; on 29 February the day before it, if need be."""
    try:
        return now.replace(year=now.year - years)
    except ValueError:
        return now.replace(year=now.year - years, day=28)


def _unanswered(lapsed_before: datetime) -> QuerySet[Consent]:
    unreferenced = {f"{relation.name}__isnull": True for relation in Consent._meta.related_objects}
    return Consent.objects.filter(
        decision=Consent.Decision.ASKED, expires_at__lt=lapsed_before, **unreferenced
    ).order_by("expires_at")
