"""Deletes old interactions, and marks consents whose interaction was never answered as undelivered."""

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q

from consent import decisions
from consent.models import Consent
from infra.retention import delete
from presentation.models import Interaction

WAY_BACK_KEPT = timedelta(days=1)  # how long the page about an expired interaction has a link back
SURELY_OVER = timedelta(minutes=10)  # after the expiry; no request that could still answer runs so long
NONCE_REMEMBERED = timedelta(days=400)  # how long a nonce is refused after a token


def clear_interactions(*, now: datetime, batch: int) -> int:
    """Deletes rows that are no longer needed, `batch` per transaction; returns their number."""
    ended = Q(expires_at__lt=now - WAY_BACK_KEPT) & ~Q(outcome=Interaction.Outcome.TOKEN)
    forgotten = Q(expires_at__lt=now - NONCE_REMEMBERED)
    return delete(Interaction.objects.filter(ended | forgotten), by="expires_at", batch=batch)


def note_never_answered(*, now: datetime, batch: int) -> None:
    """Marks granted consents as undelivered if no answer followed, because the process died."""
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
