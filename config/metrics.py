"""What a Prometheus server scrapes, for whoever has METRICS_TOKEN (text format 0.0.4, OpenMetrics 1.0)."""

import hmac

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.views.decorators.csrf import csrf_exempt
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from keys.metrics import KeyCollector
from presentation.machine_errors import for_machines
from presentation.webhooks.metrics import WebhookCollector

_registry = CollectorRegistry()  # of this service's facts only; numbers of a process differ between workers
_registry.register(KeyCollector())
_registry.register(WebhookCollector())


@for_machines
@csrf_exempt  # other methods are refused as such
def metrics(request: HttpRequest) -> HttpResponse:
    """The numbers. Without METRICS_TOKEN this address does not exist."""
    if not settings.METRICS_TOKEN:
        raise Http404
    if request.method not in ("GET", "HEAD"):
        return HttpResponseNotAllowed(["GET", "HEAD"])
    headers = {"Cache-Control": "no-store"}
    if not _allowed(request.headers.get("Authorization", "")):
        return HttpResponse(status=401, headers={**headers, "WWW-Authenticate": 'Bearer realm="metrics"'})
    encode, content_type = choose_encoder(request.headers.get("Accept", ""))
    return HttpResponse(encode(_registry), content_type=content_type, headers=headers)


def _allowed(authorization: str) -> bool:
    """Whether it is the token as RFC 6750 §2.1 has it; the comparison takes as long wherever they differ."""
    scheme, _, token = authorization.partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(token.encode(), settings.METRICS_TOKEN.encode())
