"""All metrics of the service for Prometheus: the counters of its processes, and what the database says."""

from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate

from django.db import Error
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from config.health import readiness
from config.middleware import DURATIONS
from infra.counts.counting import BOUNDS, Family, Histogram, totals
from infra.database.diagnosis import lag_metric
from infra.database.hung_database import SHORT, bounded
from infra.database.outages import means_away
from infra.database.refused_writes import REFUSED_WRITES
from infra.doctor import doctor_metrics
from infra.gauges import gauges
from infra.mail.metrics import email_metrics
from infra.runs import run_metrics
from keys.metrics import key_metrics
from presentation.metrics import abuse_metrics, clearing_metrics, job_metrics, webhook_metrics
from presentation.relying_parties.authentication.client_secrets import secret_metrics
from presentation.requests.counters import ANSWERED, ASKED, RECEIVED
from wallet.metrics import identity_metrics
from wallet.sign_in.views import SIGN_INS

_BUCKETS = [*map(str, BOUNDS), "+Inf"]


class CountCollector(Collector):
    """The counters and histograms, with the sums over all processes that share the folder."""

    def __init__(self, *families: Family) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        samples = totals()
        for family in self._families:
            rows = [(labels, numbers) for (name, labels), numbers in samples.items() if name == family.name]
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


class DatabaseCollector(Collector):
    """What the database says, the same on every instance; while it is away, only that it is."""

    def __init__(self, *parts: Callable[[], Iterable[Metric]]) -> None:
        self._parts = parts

    def collect(self) -> Iterator[Metric]:
        families: list[Metric] | None = None
        try:
            with bounded(SHORT):
                families = [family for part in self._parts for family in part()]
        except Error as error:
            if not means_away(error):
                raise
        yield from families or ()
        text = "1 if the database answered this scrape, otherwise 0, and the metrics from it are missing."
        yield GaugeMetricFamily("database_answers", text, value=float(families is not None))


class ReadinessCollector(Collector):
    """The checks of `/health/ready`, as the process that answers this scrape sees them."""

    def collect(self) -> Iterator[Metric]:
        text = "1 if a check of /health/ready passes, otherwise 0."
        yield gauges("instance_ready", text, "check", readiness.results())


REGISTRY = CollectorRegistry()  # without metrics of the process, which differ between workers
REGISTRY.register(CountCollector(DURATIONS, RECEIVED, SIGN_INS, ASKED, ANSWERED, REFUSED_WRITES))
REGISTRY.register(ReadinessCollector())
REGISTRY.register(
    DatabaseCollector(
        *(key_metrics, webhook_metrics, email_metrics, identity_metrics, clearing_metrics, secret_metrics),
        *(run_metrics, doctor_metrics, abuse_metrics, job_metrics, lag_metric),
    )
)
