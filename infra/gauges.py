"""Gauges for Prometheus with labels, which are known also while there is no sample."""

from collections.abc import Mapping

from prometheus_client.core import GaugeMetricFamily

LABELS: dict[str, tuple[str, ...]] = {}  # of each gauge that was made in this process


def gauge(name: str, text: str, *labels: str) -> GaugeMetricFamily:
    """A gauge with these labels and no sample yet."""
    LABELS[name] = labels
    return GaugeMetricFamily(name, text, labels=labels)


def gauges(name: str, text: str, label: str, values: Mapping[str, float]) -> GaugeMetricFamily:
    """The samples by the value of the label."""
    family = gauge(name, text, label)
    for value, number in values.items():
        family.add_metric([value], number)
    return family
