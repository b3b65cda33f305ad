"""Gauges for Prometheus that have one sample for each value of a label."""

from collections.abc import Mapping

from prometheus_client.core import GaugeMetricFamily


def gauges(name: str, text: str, label: str, values: Mapping[str, float]) -> GaugeMetricFamily:
    """The samples by the value of the label."""
    family = GaugeMetricFamily(name, text, labels=[label])
    for value, number in values.items():
        family.add_metric([value], number)
    return family
