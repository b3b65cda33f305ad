"""Metric of what may be abuse, counted in the database. Uploads are among the HTTP requests."""

from collections.abc import Iterator
from datetime import timedelta

from django.utils.timezone import now
from prometheus_client.core import GaugeMetricFamily

from consent.models import Report
from infra.gauges import gauges
from infra.models import AuditLine
from wallet.models import Recovery


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
