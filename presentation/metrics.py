"""Metrics of webhooks, jobs, clearing and what may be abuse, computed from the database for each request."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.db.models import F, Min
from django.db.models.functions import Greatest
from django.utils.timezone import now
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from consent.models import Report
from infra import retention, totals
from infra.gauges import gauges
from infra.models import AuditLine
from presentation.jobs import DUE
from presentation.webhooks import delivery
from presentation.webhooks.models import WebhookEvent
from wallet.models import Recovery

State = WebhookEvent.State


def webhook_metrics() -> Iterator[Metric]:
    """The metrics; docs/reference.md lists their names and the alerts."""
    moment = now()
    yield _count(State.WAITING, "webhooks_waiting", "Webhooks to be sent.")
    yield _count(State.GIVEN_UP, "webhooks_given_up", "Webhooks of the last 30 days that were given up.")
    text = "For how long a webhook that may be sent has waited for the worker; 0: none does."
    waited = overdue_webhooks(moment).total_seconds()
    yield GaugeMetricFamily("webhooks_overdue_seconds", text, value=waited)
    ended = CounterMetricFamily(
        "webhook_ends", "Webhooks that were given up, since the database was made.", labels=["state"]
    )
    ended.add_metric([State.GIVEN_UP.value], totals.of([delivery.GIVEN_UP])[delivery.GIVEN_UP])
    yield ended


def overdue_webhooks(now: datetime) -> timedelta:
    """For how long the oldest webhook that may be sent has waited for the worker; zero if none does."""
    may_be_sent = WebhookEvent.objects.filter(
        state=State.WAITING,
        due_at__lte=now,
        relying_party__webhook_endpoint__in=delivery.callable_endpoints(now),
    )
    since = Greatest(F("due_at"), F("relying_party__webhook_endpoint__next_call_at"))
    oldest = may_be_sent.aggregate(since=Min(since))["since"]
    return now - oldest if oldest else timedelta(0)


def job_metrics() -> Iterator[GaugeMetricFamily]:
    """docs/reference.md lists the metric."""
    periods = {job.name: job.every.total_seconds() for job in DUE}
    yield gauges("job_period_seconds", "How often a regular job is to run.", "command", periods)


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
    yield gauges("abuse_signs", text, "sign", {sign: queryset.count() for sign, queryset in rows.items()})


def clearing_metrics() -> Iterator[GaugeMetricFamily]:
    """docs/reference.md lists the metric and its alert."""
    overdue = {data: waited.total_seconds() for data, waited in retention.overdue(now=now()).items()}
    text = "For how long the oldest data that clear_expired should have cleared has been due; 0: none is."
    yield gauges("clearing_overdue_seconds", text, "data", overdue)
