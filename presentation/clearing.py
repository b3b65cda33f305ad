"""Forgetting: interactions (once their nonce may be), pushed requests, assertions that were used up."""

from datetime import datetime, timedelta

from django.db.models import Q
from django.dispatch import Signal

from presentation.client_models import UsedAssertion
from presentation.interactions import LIFETIME
from presentation.models import Interaction
from presentation.request_models import PushedRequest

WAY_BACK_KEPT = timedelta(days=1)  # so long the page about an expired interaction can lead home
# Sent with `now` and `batch` by `manage.py clear_expired`, to rooms that are not there everywhere.
clearing = Signal()
NONCE_REMEMBERED = timedelta(days=400)  # so long a nonce that gave a token is refused


def clear_interactions(*, now: datetime, batch: int) -> int:
    """Delete what is no longer needed, `batch` rows per transaction; gives their number."""
    cleared = 0
    ended = Q(expires_at__lt=now - WAY_BACK_KEPT) & ~Q(outcome=Interaction.Outcome.TOKEN)
    forgotten = Q(expires_at__lt=now - NONCE_REMEMBERED)
    rows = Interaction.objects.filter(ended | forgotten).order_by("expires_at")
    while ids := list(rows.values_list("id", flat=True)[:batch]):
        cleared += Interaction.objects.filter(id__in=ids).delete()[0]
    return cleared


def clear_used_assertions(*, now: datetime, batch: int) -> int:
    """Delete what could not be used again anyway, `batch` rows per transaction; gives their number."""
    cleared = 0
    rows = UsedAssertion.objects.filter(expires_at__lte=now).order_by("expires_at")
    while digests := list(rows.values_list("digest", flat=True)[:batch]):
        cleared += UsedAssertion.objects.filter(digest__in=digests).delete()[0]
    return cleared


def clear_pushed_requests(*, now: datetime, batch: int) -> int:
    """Delete what no interaction still goes on with, `batch` rows per transaction; gives their number."""
    cleared = 0
    rows = PushedRequest.objects.filter(expires_at__lte=now - LIFETIME).order_by("expires_at")
    while digests := list(rows.values_list("digest", flat=True)[:batch]):
        cleared += PushedRequest.objects.filter(digest__in=digests).delete()[0]
    return cleared
