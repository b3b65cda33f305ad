"""The counted figures for Prometheus."""

from collections.abc import Iterator
from itertools import accumulate

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from config.counts.counting import BOUNDS, FAMILIES, Histogram, totals

_BUCKETS = [*map(str, BOUNDS), "+Inf"]


class CountCollector(Collector):
    """All families of `counting`, with the sums over all processes that share the folder."""

    def collect(self) -> Iterator[Metric]:
        found = totals()
        for family in FAMILIES.values():
            rows = [(labels, numbers) for (name, labels), numbers in found.items() if name == family.name]
            if isinstance(family, Histogram):
                histogram = HistogramMetricFamily(family.name, family.text, labels=family.labels)
                for labels, numbers in rows:
                    buckets = zip(_BUCKETS, accumulate(numbers[:-1]), strict=True)
                    histogram.add_metric(labels, list(buckets), numbers[-1])
                yield histogram
            else:
                counter = CounterMetricFamily(family.name, family.text, labels=family.labels)
                for labels, numbers in rows:
                    counter.add_metric(labels, numbers[0])
                yield counter
