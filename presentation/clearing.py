"""Clears interactions once their nonce may be forgotten, and corrects receipts of those never answered."""

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q

from consent import decisions
from consent.models import Consent
from infra.retention import delete
from presentation.models import Interaction

WAY_BACK_KEPT = timedelta(days=1)  # so long the page about an expired interaction can lead home
SURELY_OVER = timedelta(minutes=10)  # an answer that began in time has been given by then, or never will be
NONCE_REMEMBERED = timedelta(days=400)  # so long a nonce that gave a token is refused


def clear_interactions(*, now: datetime, batch: int) -> int:
    """Delete what is no longer needed, `batch` rows per transaction; gives their number."""
    ended = Q(expires_at__lt=now - WAY_BACK_KEPT) & ~Q(outcome=Interaction.Outcome.TOKEN)
    forgotten = Q(expires_at__lt=now - NONCE_REMEMBERED)
    return delete(Interaction.objects.filter(ended | forgotten), by="expires_at", batch=batch)


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
