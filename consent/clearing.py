"""Forgetting the questions that nobody answered, so that the table grows only with answers."""

from datetime import datetime

from django.db.models import QuerySet

from consent.models import Consent


def clear_unanswered(*, lapsed_before: datetime, batch: int) -> int:
    """Delete unanswered questions that lapsed before then, `batch` per transaction; gives their number.

    A question that another table still refers to waits until the reference is gone.
    """
    cleared = 0
    while ids := list(_unanswered(lapsed_before).values_list("id", flat=True)[:batch]):
        deleted, _ = _unanswered(lapsed_before).filter(id__in=ids).delete()
        cleared += deleted
    return cleared


def _unanswered(lapsed_before: datetime) -> QuerySet[Consent]:
    unreferenced = {f"{relation.name}__isnull": True for relation in Consent._meta.related_objects}
    return Consent.objects.filter(
        decision=Consent.Decision.ASKED, expires_at__lt=lapsed_before, **unreferenced
    ).order_by("expires_at")
