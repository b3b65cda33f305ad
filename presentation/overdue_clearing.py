"""Metrics of clearing: what should be gone and is still there, computed from the rows themselves."""

from collections.abc import Iterator

from django.utils.timezone import now
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from infra import retention


class ClearingCollector(Collector):
    """docs/operate.md lists the metric and its alert."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        family = GaugeMetricFamily(
            "clearing_overdue_seconds",
            "For how long the oldest data that clear_expired should have cleared has been due; 0: none is.",
            labels=["data"],
        )
        for data, waited in retention.overdue(now=now()).items():
            family.add_metric([data], waited.total_seconds())
        yield family
