"""Forgetting: interactions (once their nonce may be), pushed requests, assertions that were used up."""

from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.dispatch import Signal

from consent import decisions
from consent.models import Consent
from presentation.models import Interaction, PushedRequest, UsedAssertion
from presentation.requests.interactions import LIFETIME

WAY_BACK_KEPT = timedelta(days=1)  # so long the page about an expired interaction can lead home
SURELY_OVER = timedelta(minutes=10)  # an answer that began in time has been given by then, or never will be
# Sent with `now` and `batch` by `manage.py clear_expired`, to rooms that are not there everywhere.
clearing = Signal()
NONCE_REMEMBERED = timedelta(days=400)  # so long a nonce that gave a token is refused


def clear_interactions(*, now: datetime, batch: int) -> int:
    """Delete what is no longer needed, `batch` rows per transaction; gives their number."""
    ended = Q(expires_at__lt=now - WAY_BACK_KEPT) & ~Q(outcome=Interaction.Outcome.TOKEN)
    forgotten = Q(expires_at__lt=now - NONCE_REMEMBERED)
    return _clear(Interaction.objects.filter(ended | forgotten), batch)


def note_never_answered(*, now: datetime, batch: int) -> None:
    """Receipts of a yes that was never answered, because its process died, do not say that it was shared."""
    rows = Interaction.objects.filter(
        outcome=Interaction.Outcome.NONE,
        expires_at__lt=now - SURELY_OVER,
        consent__decision=Consent.Decision.GRANTED,
        consent__undelivered_at=None,
    )
    while found := list(rows.values_list("consent", flat=True)[:batch]):
        with transaction.atomic():
            for consent_id in found:
                decisions.note_undelivered(consent_id, now=now)


def clear_used_assertions(*, now: datetime, batch: int) -> int:
    """Delete what could not be used again anyway, `batch` rows per transaction; gives their number."""
    return _clear(UsedAssertion.objects.filter(expires_at__lte=now), batch)


def clear_pushed_requests(*, now: datetime, batch: int) -> int:
    """Delete what no interaction still goes on with, `batch` rows per transaction; gives their number."""
    return _clear(PushedRequest.objects.filter(expires_at__lte=now - LIFETIME), batch)


def _clear(rows: QuerySet[Any], batch: int) -> int:
    cleared = 0
    oldest = rows.order_by("expires_at").values_list("pk", flat=True)
    while found := list(oldest[:batch]):
        cleared += rows.model.objects.filter(pk__in=found).delete()[0]
    return cleared
