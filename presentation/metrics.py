"""Metrics of webhooks, of clearing and of what may be abuse, computed from the database for each request."""

from collections.abc import Iterator
from datetime import timedelta

from django.db.models import F, Min
from django.db.models.functions import Greatest
from django.utils.timezone import now
from prometheus_client.core import GaugeMetricFamily

from consent.models import Report
from infra import retention
from infra.gauges import gauges
from infra.models import AuditLine
from presentation.webhooks.delivery import callable_endpoints
from presentation.webhooks.models import WebhookEvent
from wallet.models import Recovery

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


def abuse_metrics() -> Iterator[GaugeMetricFamily]:
    """docs/reference.md lists the metric and its alerts."""
    since = now() - timedelta(hours=1)
    rows = {
        "second_factor_refused": AuditLine.objects.filter(action="second_factor_refused", at__gt=since),
        "recovery_refused": Recovery.objects.filter(state=Recovery.State.REFUSED, ended_at__gt=since),
        "requester_reported": Report.objects.filter(reported_at__gt=since),
    }
    text = "What may be abuse, of the last hour: second factors and recoveries refused, requesters reported."
    yield gauges("abuse_signs", text, "sign", {sign: found.count() for sign, found in rows.items()})


def clearing_metrics() -> Iterator[GaugeMetricFamily]:
    """docs/reference.md lists the metric and its alert."""
    overdue = {data: waited.total_seconds() for data, waited in retention.overdue(now=now()).items()}
    text = "For how long the oldest data that clear_expired should have cleared has been due; 0: none is."
    yield gauges("clearing_overdue_seconds", text, "data", overdue)
