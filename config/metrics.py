"""Metrics for Prometheus, protected by METRICS_TOKEN (text format 0.0.4, OpenMetrics 1.0)."""

import hmac
from collections.abc import Iterator

from django.conf import settings
from django.db import Error
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.views.decorators.csrf import csrf_exempt
from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from config.counts.exposition import CountCollector
from infra.database.hung_database import SHORT, bounded
from infra.database.outages import means_away
from infra.mail.metrics import EmailCollector
from keys.metrics import KeyCollector
from presentation.machine_errors import for_machines
from presentation.overdue_clearing import ClearingCollector
from presentation.webhooks.metrics import WebhookCollector
from wallet.metrics import IdentityCollector


class DatabaseCollector(Collector):
    """What the database says, the same on every instance; while it is away, only that it is."""

    def __init__(self, *parts: Collector) -> None:
        self._parts = parts

    def collect(self) -> Iterator[Metric]:
        found: list[Metric] = []
        answers = True
        try:
            with bounded(SHORT):
                found = [family for part in self._parts for family in part.collect()]
        except Error as error:
            if not means_away(error):
                raise
            answers = False
        yield from found
        text = "1 if the database answered this scrape, otherwise 0, and the metrics from it are missing."
        yield GaugeMetricFamily("database_answers", text, value=float(answers))


_registry = CollectorRegistry()  # without metrics of the process, which differ between workers
_registry.register(CountCollector())
_registry.register(
    DatabaseCollector(
        KeyCollector(), WebhookCollector(), EmailCollector(), IdentityCollector(), ClearingCollector()
    )
)


@for_machines
@csrf_exempt  # so that other methods are answered with 405
def metrics(request: HttpRequest) -> HttpResponse:
    """The metrics. Without METRICS_TOKEN this URL does not exist."""
    if not settings.METRICS_TOKEN:
        raise Http404
    if request.method not in ("GET", "HEAD"):
        return HttpResponseNotAllowed(["GET", "HEAD"])
    headers = {"Cache-Control": "no-store"}
    if not _allowed(request.headers.get("Authorization", "")):
        return HttpResponse(status=401, headers={**headers, "WWW-Authenticate": 'Bearer realm="metrics"'})
    try:
        encode, content_type = choose_encoder(request.headers.get("Accept", ""))
    except (TypeError, ValueError):  # a version that is no number
        encode, content_type = choose_encoder("")
    return HttpResponse(encode(_registry), content_type=content_type, headers=headers)


def _allowed(authorization: str) -> bool:
    """Whether the header has the token (RFC 6750 §2.1); compares in constant time."""
    scheme, _, token = authorization.partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(token.encode(), settings.METRICS_TOKEN.encode())
