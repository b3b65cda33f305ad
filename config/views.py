"""The front page, the choice of a language, and the error pages: in plain words, with a reference."""

import sys

from django.apps import apps
from django.conf import settings
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBadRequest,
    HttpResponseRedirect,
    JsonResponse,
)
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import cache_control, never_cache
from django.views.decorators.http import require_POST

from config.context import environment, page_of_form
from config.middleware import ADMIN
from config.operator import style
from infra import cross_origin, languages
from infra.again import SHORTLY, again_after
from infra.database.outages import means_away
from infra.reading import only_read
from infra.served import reference_of
from presentation.machine_errors import MachineError, OurFaultError, UnavailableError, is_for_machines
from wallet.sign_in import sessions
from wallet.sign_in.decorators import see_other
from wallet.sign_in.views import HOME

WELL_KNOWN = "/.well-known/"
LONGEST_PATH = 9000  # an authorization request and its path


@never_cache
@only_read
def home(request: HttpRequest) -> HttpResponse:
    """The front page: what this service is. Leads signed-in holders to their wallet.

    The links for developers are shown only where the sandbox is installed: people meet this page in
    production, and have no use for them.
    """
    if sessions.current(request, now=timezone.now()):
        return see_other(HOME)
    links = {name: _address(name) for name in ("playground", "guide", "self_service", "api_description")}
    return render(request, "home.html", {**links, "for_developers": apps.is_installed("sandbox")})


@cache_control(public=True, max_age=3600)
@only_read
def operator_logo(request: HttpRequest) -> HttpResponse:
    """The operator's logo (OPERATOR_LOGO_FILE)."""
    if not settings.OPERATOR.logo:
        raise Http404
    return HttpResponse(settings.OPERATOR.logo, content_type=settings.OPERATOR.logo_type)


@cache_control(public=True, max_age=3600)
@only_read
def operator_style(request: HttpRequest) -> HttpResponse:
    """The operator's colour (OPERATOR_COLOUR) as a style sheet, because the CSP allows no inline styles."""
    if not settings.OPERATOR.colour:
        raise Http404
    return HttpResponse(style(settings.OPERATOR.colour), content_type="text/css; charset=utf-8")


@never_cache
@require_POST
def choose_language(request: HttpRequest) -> HttpResponse:
    """The switch in the footer: keeps the language that the person chose, and returns to the page.

    `next` must be a path of this service; for anything else the front page is shown.
    """
    language = request.POST.get("language", "")
    if language not in dict(settings.LANGUAGES):
        return HttpResponseBadRequest("Unknown language.", content_type="text/plain")
    response = HttpResponseRedirect(_path(request.POST.get("next", "")), status=303)
    languages.choose(response, language)
    session = sessions.current(request, now=timezone.now())
    if session:
        sessions.speak(session.wallet, language)
    return response


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """400: the request cannot be read."""
    return _error_page(request, "400.html", 400)


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """403: the client may not do this."""
    return _error_page(request, "403.html", 403)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403: Django's check refuses a form of the admin, for example if another tab has changed its token."""
    page = page_of_form(request) or reverse("admin:index")
    return _error_page(request, "admin/403_csrf.html", 403, again=page)


def cross_site(request: HttpRequest) -> HttpResponse:
    """403: the browser does not say that a page of this service sent the form (`config.cross_site`)."""
    return _error_page(request, "403_cross_site.html", 403, again=page_of_form(request) or reverse("home"))


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """404. Below `/.well-known/` (RFC 8615) as JSON, because only programs read there."""
    if f"{request.path_info}/".startswith(WELL_KNOWN):
        where = f"{settings.BASE_URL}/.well-known/openid-configuration"
        members = {
            "error": "not_found",
            "error_description": f"Nothing is published here. Discovery is at {where}.",
        }
        headers = {"Cache-Control": "no-store", **cross_origin.READABLE}
        return JsonResponse(members, status=404, headers=headers)
    return _error_page(request, "404.html", 404)


def server_error(request: HttpRequest) -> HttpResponse:
    """500, or 503 while the database is away. Neither page queries the database.

    Django calls this while it handles the exception, so `sys.exception()` gives it.
    """
    away = means_away(sys.exception())
    reference, headers = reference_of(request), {"Cache-Control": "no-store"}
    if is_for_machines(request):
        error: MachineError = UnavailableError(seconds=SHORTLY) if away else OurFaultError(reference)
        return JsonResponse(error.as_members(), status=error.status, headers={**error.headers(), **headers})
    context = {"reference": reference, **environment(request)}
    if not away:
        return HttpResponse(render_to_string("500.html", context), status=500, headers=headers)
    form_sent = request.method not in ("GET", "HEAD")  # a COMMIT without an answer may have succeeded
    context |= {"form_sent": form_sent, "again": form_sent and (page_of_form(request) or reverse("home"))}
    page = HttpResponse(render_to_string("503.html", context), status=503, headers=headers)
    return again_after(SHORTLY, page)


def _path(written: str) -> str:
    """A path of this service, or the front page if it is anything else."""
    path = (
        written.startswith("/")
        and len(written) <= LONGEST_PATH
        and written.isascii()
        and written.isprintable()
        and url_has_allowed_host_and_scheme(written, allowed_hosts=None)
    )
    return written if path else reverse("home")


def _error_page(request: HttpRequest, template: str, status: int, **context: str) -> HttpResponse:
    context["reference"] = reference_of(request)
    if request.path_info.startswith(ADMIN):
        context["way_on"] = reverse("admin:index")
    response = render(request, template, context, status=status)
    response.headers["Cache-Control"] = "no-store"
    return response


def _address(name: str) -> str:
    """The URL of a page that only the sandbox has; otherwise empty."""
    try:
        return reverse(name)
    except NoReverseMatch:
        return ""
