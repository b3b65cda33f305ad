"""Forgetting what has run out: sessions, errands with their codes, links, known browsers, and counts."""

from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet

from infra.models import Allowance
from wallet.models import Errand, HolderSession, KnownBrowser, LoginLink

# An expired errand still shows the way back, for people who come back to a tab the next day.
ERRANDS_KEPT = timedelta(days=1)


def clear_expired(*, now: datetime, batch: int) -> int:
    """Delete what has expired, `batch` rows per transaction; gives their number."""
    return (
        _clear(HolderSession.objects.filter(expires_at__lte=now), batch)
        + _clear(Errand.objects.filter(expires_at__lte=now - ERRANDS_KEPT), batch)
        + _clear(LoginLink.objects.filter(expires_at__lte=now), batch)
        + _clear(KnownBrowser.objects.filter(expires_at__lte=now), batch)
        + _clear(Allowance.objects.filter(expires_at__lte=now), batch)
    )


def _clear(expired: QuerySet[Any], batch: int) -> int:
    cleared = 0
    while keys := list(expired.order_by("expires_at").values_list("pk", flat=True)[:batch]):
        expired.filter(pk__in=keys).delete()
        cleared += len(keys)
    return cleared
