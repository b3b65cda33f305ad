"""Metrics of webhooks for monitoring, computed from the database for each request."""

from collections.abc import Iterator

from django.db.models import F, Min
from django.db.models.functions import Greatest
from django.utils.timezone import now
from prometheus_client.core import GaugeMetricFamily

from presentation.webhooks.delivery import callable_endpoints
from presentation.webhooks.models import WebhookEvent

State = WebhookEvent.State


def webhook_metrics() -> Iterator[GaugeMetricFamily]:
    """The metrics; docs/reference.md lists their names and the alerts."""
    moment = now()
    yield _count(State.WAITING, "webhooks_waiting", "Webhooks to be sent.")
    yield _count(State.GIVEN_UP, "webhooks_given_up", "Webhooks of the last 30 days that were given up.")
    may_be_sent = WebhookEvent.objects.filter(
        state=State.WAITING,
        due_at__lte=moment,
        relying_party__webhook_endpoint__in=callable_endpoints(moment),
    )
    since = Greatest(F("due_at"), F("relying_party__webhook_endpoint__next_call_at"))
    oldest = may_be_sent.aggregate(since=Min(since))["since"]
    waited = (moment - oldest).total_seconds() if oldest else 0.0
    text = "For how long a webhook that may be sent has waited for the worker; 0: none does."
    yield GaugeMetricFamily("webhooks_overdue_seconds", text, value=waited)


def _count(state: State, name: str, text: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, text, value=WebhookEvent.objects.filter(state=state).count())
