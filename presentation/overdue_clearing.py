"""Metrics of clearing: what should be gone and is still there, computed from the rows themselves."""

from collections.abc import Iterator

from django.utils.timezone import now
from prometheus_client.core import GaugeMetricFamily

from infra import retention
from infra.gauges import gauges


def clearing_metrics() -> Iterator[GaugeMetricFamily]:
    """docs/reference.md lists the metric and its alert."""
    overdue = {data: waited.total_seconds() for data, waited in retention.overdue(now=now()).items()}
    text = "For how long the oldest data that clear_expired should have cleared has been due; 0: none is."
    yield gauges("clearing_overdue_seconds", text, "data", overdue)
