"""Pages of no room in particular: the front page, and what went wrong, in plain words with a reference."""

import sys

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache

from config.context import environment
from config.middleware import ADMIN
from infra.again import SHORTLY, again_after
from infra.database.outages import means_away
from infra.reading import only_read
from presentation.machine_errors import MachineError, OurFaultError, UnavailableError, is_for_machines
from wallet import sessions
from wallet.pages import TRY_AGAIN
from wallet.views import HISTORY

# For each URL that a holder's form is posted to, the page that shows the form. These pages can be opened at
# any time and show the next step. Other forms may hold long input, so people reload those pages themselves.
_SAME_PAGE = (
    *("consent_invalidate", "delivery", "resume", "sandbox_identity", "wallet_code", "wallet_front_door"),
    *("wallet_identity_in_person", "wallet_link", "wallet_sign_in", "wallet_switch"),
)
PAGE_OF_FORM = {name: name for name in _SAME_PAGE} | {
    "wallet_errand_sign_out": "wallet_identity",
    "wallet_identity_cancel": "wallet_identity",
    "wallet_identity_start": "wallet_identity",
    "wallet_sign_out": HISTORY,
}

WELL_KNOWN = "/.well-known/"


@never_cache
@only_read
def home(request: HttpRequest) -> HttpResponse:
    """What this service is, for whoever opens its address, and the ways in."""
    session = sessions.current(request, now=timezone.now())
    ways_in = {name: _address(name) for name in ("playground", "guide", "self_service", "api_description")}
    signed_in_as = session.wallet.email if session else ""
    return render(request, "home.html", {**ways_in, "signed_in_as": signed_in_as})


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """400: what was sent cannot be read."""
    return _went_wrong(request, "400.html", 400)


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """403."""
    return _went_wrong(request, "403.html", 403)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form without a good CSRF token does nothing. The browser gets its page anew, or 403.

    Every sign-in, sign-out and decision changes the token, so the form mostly comes from another tab. Its
    page then says what has happened since. Any site can post here; only a form of ours is redirected.
    """
    if page := _page_as_it_stands(request):
        return HttpResponseRedirect(page, status=303, headers={"Cache-Control": "no-store"})
    return _went_wrong(request, "403_csrf.html", 403, again=_page_of_form(request))


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """404. Only programs look below `/.well-known/` (RFC 8615), and they read JSON."""
    if f"{request.path_info}/".startswith(WELL_KNOWN):
        where = f"{settings.BASE_URL}/.well-known/openid-configuration"
        said = {
            "error": "not_found",
            "error_description": f"Nothing is published here. Discovery is at {where}.",
        }
        headers = {"Cache-Control": "no-store", "Access-Control-Allow-Origin": "*"}
        return JsonResponse(said, status=404, headers=headers)
    return _went_wrong(request, "404.html", 404)


def server_error(request: HttpRequest) -> HttpResponse:
    """500, or 503 while the database is away. Neither page queries the database.

    Django calls this while it handles the exception, whichever view or middleware raised it.
    """
    away = means_away(sys.exception())
    if is_for_machines(request):
        return _for_machines(request, away=away)
    context = {"reference": getattr(request, "reference", ""), **environment(request)}
    headers = {"Cache-Control": "no-store"}
    if not away:
        return HttpResponse(render_to_string("500.html", context), status=500, headers=headers)
    form_sent = request.method not in ("GET", "HEAD")  # a COMMIT without an answer may have been done
    context |= {"form_sent": form_sent, "again": _page_of_form(request) if form_sent else ""}
    page = HttpResponse(render_to_string("503.html", context), status=503, headers=headers)
    return again_after(SHORTLY, page)


def _for_machines(request: HttpRequest, *, away: bool) -> HttpResponse:
    """The same as JSON, for views that are not pages."""
    error: MachineError = OurFaultError(getattr(request, "reference", ""))
    if away:
        error = UnavailableError(seconds=SHORTLY)
    headers = {**error.headers(), "Cache-Control": "no-store"}
    return JsonResponse(error.as_members(), status=error.status, headers=headers)


def _went_wrong(request: HttpRequest, template: str, status: int, **context: str) -> HttpResponse:
    context["reference"] = getattr(request, "reference", "")
    if request.path_info.startswith(ADMIN):
        context["way_on"] = reverse("admin:index")
    response = render(request, template, context, status=status)
    response.headers["Cache-Control"] = "no-store"
    return response


def _page_as_it_stands(request: HttpRequest) -> str:
    """The address of the page that a holder's form was on, if it came from there; empty otherwise."""
    match = request.resolver_match
    page = PAGE_OF_FORM.get(match.url_name or "") if match else None
    own_origin = f"{request.scheme}://{request.get_host()}"
    if match is None or page is None or request.headers.get("Origin") != own_origin:
        return ""
    if settings.CSRF_COOKIE_NAME not in request.COOKIES:  # without cookies it would fail again and again
        return ""
    return reverse(page, kwargs=match.kwargs if page != HISTORY else {}, query={TRY_AGAIN: 1})


def _page_of_form(request: HttpRequest) -> str:
    """The page of ours that the form was on; browsers name it in `Referer` within one origin."""
    page = request.headers.get("Referer", "")
    own = url_has_allowed_host_and_scheme(page, {request.get_host()}, require_https=request.is_secure())
    return page if page and own else reverse("home")


def _address(name: str) -> str:
    """The address of a page that only the sandbox has; empty where there is none."""
    try:
        return reverse(name)
    except NoReverseMatch:
        return ""
