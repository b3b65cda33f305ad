"""Addresses for identity providers: calls of their machines, and browsers that bring parameters back."""

from collections.abc import Mapping

import structlog
from django.core.exceptions import RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from infra import browser
from infra.reading import only_read
from wallet.identity import progress
from wallet.identity.progress import OtherBrowserError
from wallet.models import IdentityVerification, RedirectTask
from wallet.providers.contract import Message, MessageRefusedError
from wallet.sign_in.decorators import see_other

log = structlog.get_logger(__name__)

LONGEST = 65_536  # bytes of a callback's body
MOST_PARAMETERS = 50


def unknown(request: HttpRequest, name: str) -> HttpResponse:
    """Nothing is here but the addresses below."""
    raise Http404


@never_cache
@only_read
def returned(request: HttpRequest, name: str) -> HttpResponse:
    """A browser comes back from the provider with parameters; then the page of the attempt is shown."""
    now = timezone.now()
    try:
        message = _message(request, "", from_browser=True)
        received = progress.receive(name, message, browser=browser.digest(request), now=now)
    except OtherBrowserError:
        return render(request, "wallet/identity_elsewhere.html", status=403)
    except MessageRefusedError as refused:
        log.warning("identity_return_refused", provider=name, why=str(refused))
        return _to_its_redirect_task(request, name)
    rows = IdentityVerification.objects.filter(provider=name, provider_reference__in=received.references)
    redirect_task_id = rows.order_by("-created_at").values_list("redirect_task_id", flat=True).first()
    return (
        see_other("wallet_identity", redirect_task_id)
        if redirect_task_id
        else _to_its_redirect_task(request, name)
    )


def _to_its_redirect_task(request: HttpRequest, name: str) -> HttpResponse:
    """Redirects to this browser's latest attempt with the provider, for a reloaded page or a late return.

    What the browser brought is not believed, only its own cookie. Any site can open this address in a window,
    and where it leads depends on the browser: the window is cut off either way, so that nobody can tell.
    """
    mine = RedirectTask.objects.filter(browser=browser.digest(request) or "")
    rows = IdentityVerification.objects.filter(provider=name, redirect_task__in=mine)
    redirect_task_id = rows.order_by("-changed_at").values_list("redirect_task_id", flat=True).first()
    response = (
        see_other("wallet_identity", redirect_task_id) if redirect_task_id else see_other("wallet_front_door")
    )
    response.headers["Cross-Origin-Opener-Policy"] = "same-origin"
    return response


@csrf_exempt
@never_cache
@require_http_methods(["GET", "POST"])
def callback(request: HttpRequest, name: str, path: str = "") -> HttpResponse:
    """A call of the provider's machines. The provider's module verifies that it is genuine."""
    try:
        message = _message(request, path, from_browser=False)
        reply = progress.receive(name, message, now=timezone.now()).reply
    except MessageRefusedError as refused:
        log.warning("identity_callback_refused", provider=name, why=str(refused))
        return JsonResponse({"error": "invalid_request"}, status=refused.status)
    return HttpResponse(reply.body, status=reply.status, content_type=reply.content_type)


def _message(request: HttpRequest, path: str, *, from_browser: bool) -> Message:
    try:
        body = request.body
    except RequestDataTooBig:
        body = None
    if body is None or len(body) > LONGEST:
        raise MessageRefusedError("The body is too long.", status=413)
    return Message(
        from_browser=from_browser,
        method=request.method or "",
        path=path,
        query=single_values(request.GET),
        headers={name.lower(): value for name, value in request.headers.items()},
        body=body,
    )


def single_values(parameters: QueryDict) -> Mapping[str, str]:
    """The parameters, each of which may occur once. Raises `MessageRefusedError`."""
    if len(parameters) > MOST_PARAMETERS or any(len(values) > 1 for _name, values in parameters.lists()):
        raise MessageRefusedError("A parameter is repeated, or there are too many.")
    return {name: str(value) for name, value in parameters.items()}
