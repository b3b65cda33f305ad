"""Forgetting what was told (the delivery log is kept for 30 days), and the secrets that have ended."""

from datetime import datetime, timedelta

from presentation.webhooks.models import WebhookEvent, WebhookSecret

KEPT = timedelta(days=30)


def clear_webhooks(*, now: datetime, batch: int) -> int:
    """Delete what happened longer ago, `batch` rows per transaction; gives their number."""
    cleared = 0
    WebhookSecret.objects.filter(ends_at__lte=now).delete()
    rows = WebhookEvent.objects.filter(created_at__lt=now - KEPT).order_by("created_at")
    while ids := list(rows.values_list("id", flat=True)[:batch]):
        cleared += WebhookEvent.objects.filter(id__in=ids).delete()[0]
    return cleared
