"""What monitoring reads: `/health/live` and `/health/ready`, and the metrics for Prometheus.

The bodies of both health checks name checks and nothing else: no text of an exception, no address, no
version. So they tell an outsider only what a failed request would tell as well; deploy/nginx.conf does not
let outsiders read them. METRICS_TOKEN protects the metrics (text format 0.0.4, OpenMetrics 1.0).
"""

import hmac

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from prometheus_client.exposition import choose_encoder

from config.health import readiness
from config.metrics import REGISTRY
from infra.database.refused_writes import REASONS, REFUSED_WRITES
from infra.reading import only_read
from presentation.machine_errors import for_machines

_NOT_CACHED = {"Cache-Control": "no-store"}


@for_machines
@only_read
def live(request: HttpRequest) -> JsonResponse:
    """200 as long as this process answers requests; reads neither the database nor a file."""
    return JsonResponse({"status": "live"}, headers=_NOT_CACHED)


@for_machines
@only_read
def ready(request: HttpRequest) -> JsonResponse:
    """200 if this instance can do its work, else 503; the body names each check as `ok` or `failed`.

    A fault of the mail server or of a relying party does not count, because no other instance could do
    better.
    """
    results = readiness.results()
    is_ready = all(results.values())
    members = {
        "status": "ready" if is_ready else "not ready",
        "checks": {name: "ok" if passed else "failed" for name, passed in results.items()},
    }
    return JsonResponse(members, status=200 if is_ready else 503, headers=_NOT_CACHED)


@for_machines
@csrf_exempt  # so that other methods are answered with 405
def metrics(request: HttpRequest) -> HttpResponse:
    """The metrics. Without METRICS_TOKEN this URL does not exist."""
    if not settings.METRICS_TOKEN:
        raise Http404
    if request.method not in ("GET", "HEAD"):
        return HttpResponseNotAllowed(["GET", "HEAD"])
    if not _allowed(request.headers.get("Authorization", "")):
        return HttpResponse(status=401, headers={**_NOT_CACHED, "WWW-Authenticate": 'Bearer realm="metrics"'})
    for reason in REASONS.values():
        REFUSED_WRITES.begin(reason)
    try:
        encode, content_type = choose_encoder(request.headers.get("Accept", ""))
    except (TypeError, ValueError):  # a version that is no number
        encode, content_type = choose_encoder("")
    return HttpResponse(encode(REGISTRY), content_type=content_type, headers=_NOT_CACHED)


def _allowed(authorization: str) -> bool:
    """Whether the header has the token (RFC 6750 §2.1); compares in constant time."""
    scheme, _, token = authorization.partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(token.encode(), settings.METRICS_TOKEN.encode())
