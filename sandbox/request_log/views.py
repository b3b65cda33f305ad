"""The page of the request log. A developer sees the requests of their own applications only."""

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from infra.limits import LimitReachedError
from infra.served import reference_of
from infra.typed_digits import plain
from sandbox.request_log.requests import requests_of
from sandbox.request_log.webhook import send_test
from sandbox.self_service import self_registrations
from sandbox.self_service.views import active_or_404, for_developer, how_long, own_or_404
from wallet.sign_in.decorators import see_other


@require_http_methods(["GET", "HEAD", "POST"])
@for_developer
def request_log(request: HttpRequest, owner: str, client_id: str = "") -> HttpResponse:
    """The requests of one application, or of all; with `reference`, those that have a step with it.

    POST sends a test webhook to the application and leads to what came back.
    """
    now, problem, status = timezone.now(), "", 200
    typed = plain(request.GET.get("reference", "")).upper()[:8]
    own = own_or_404(owner, client_id) if client_id else None
    if request.method == "POST":
        try:
            reference = reference_of(request)
            send_test(active_or_404(owner, client_id), owner, reference=reference, now=now)
            return see_other(reverse("desk", args=[client_id], query={"reference": reference}))
        except LimitReachedError as limit:
            problem, status = how_long(limit, now), 429
    logged_requests = requests_of([own] if own else self_registrations.registered_by(owner), now=now)
    if typed:
        logged_requests = [
            logged
            for logged in logged_requests
            if any(step.reference == typed for step, *_rule in logged["steps"])
        ]
    page = Paginator(logged_requests, 10).get_page(request.GET.get("page"))
    facts = {"party": own, "developer": owner, "page": page, "typed": typed, "problem": problem}
    return render(
        request, "developer/request_log.html", facts, status=status if logged_requests or not typed else 404
    )
