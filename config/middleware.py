"""Middleware: what every request gets, and who answers it."""

import re
import secrets
from collections.abc import Callable
from time import perf_counter
from typing import Any, cast

import structlog
from django.conf import settings
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.messages.middleware import MessageMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.core.handlers.exception import convert_exception_to_response
from django.http import Http404, HttpRequest, HttpResponse, HttpResponsePermanentRedirect
from django.middleware.common import CommonMiddleware
from django.utils.cache import patch_vary_headers
from django.utils.translation import activate, deactivate, get_language
from whitenoise.middleware import WhiteNoiseMiddleware

from config import opener_policy
from infra import content_policy, languages, log_context
from infra.counts.counting import Histogram
from infra.database import refused_writes
from infra.served import ServedRequest, noting
from presentation.machine_errors import is_marked
from wallet.identity.arriving_bodies import expect_no_body

log = structlog.get_logger(__name__)
GetResponse = Callable[[HttpRequest], HttpResponse]
ADMIN = "/admin/"
# Pages for operators and developers are in English only, as are all endpoints for machines.
ENGLISH = (ADMIN, "/health/", "/metrics", "/oauth/", "/playground/", "/sandbox/", "/.well-known/")
# Monitoring requests these at the port of each instance, without TLS and with any `Host`.
MONITORING = frozenset(("/health/live", "/health/ready", "/metrics"))
SIMULATED_CHECK = "/sandbox/identity/"  # a step of the holder's flow, and so in the language of the holder
_SESSION_KEY = re.compile("[a-z0-9]{32}")
_METHODS = frozenset(("GET", "HEAD", "POST"))
_REQUEST_ID = re.compile("[0-9a-f]{32}")  # nginx's $request_id
_TRACE = re.compile(
    "00-((?!0{32})[0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}"
)  # `traceparent` (W3C Trace Context)


class EveryRequest:
    """Gives every request an id and a language, and every response its headers and a line in the log.

    The id is that of the proxy in front, whose log has it too. Error pages show its beginning as the
    reference, so that people can quote it.

    The line has method, route, status and milliseconds, and what views bind with `log_context.bind`. The path
    and the query are left out, because they contain e-mail addresses, nonces and payments. Anybody may send a
    trace id, so it only leads from the lines of a client to ours.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
        self.headers = _constant_headers()
        self.hsts = {"Strict-Transport-Security": hsts} if (hsts := _hsts()) else {}
        self.proxied = settings.TRUSTED_PROXY_COUNT > 0  # otherwise the client sets the headers

    def __call__(self, request: HttpRequest) -> HttpResponse:
        started = perf_counter()
        request_id = self.proxied and request.META.get("HTTP_X_REQUEST_ID", "")
        if not request_id or not _REQUEST_ID.fullmatch(request_id):
            request_id = secrets.token_hex(16)
        reference = request_id[:8].upper()
        noting(request, ServedRequest).reference = reference
        facts = log_context.begin(reference=reference, request_id=request_id)
        if trace := _TRACE.fullmatch(request.META.get("HTTP_TRACEPARENT", "")):
            facts["trace_id"] = trace[1]
        language = _language(request)
        noting(request, ServedRequest).page_language = language
        activate(language or settings.LANGUAGE_CODE)
        refused_writes.begin_request()
        try:
            response = self.get_response(request)
            response.headers["X-Request-ID"] = request_id
            self._add_headers(request, response)
            _name_language(response, language)
            match, seconds = request.resolver_match, perf_counter() - started
            _observe_duration(request, response.status_code, seconds)
            line = log.debug if request.path_info in MONITORING else log.info  # probes come every few seconds
            line(
                "request",
                method=request.method,
                route=match.route if match else None,
                status=response.status_code,
                milliseconds=round(seconds * 1000, 1),
            )
            return response
        finally:
            deactivate()
            refused_writes.end_request()
            log_context.end()

    def process_view(self, request: HttpRequest, view: Any, *arguments: Any) -> None:
        """Endpoints for machines (`machine_errors.for_machines`) answer in English."""
        if is_marked(view):
            activate(settings.LANGUAGE_CODE)
        if getattr(view, "leaves_the_body_unread", False):
            expect_no_body(request)

    def _add_headers(self, request: HttpRequest, response: HttpResponse) -> None:
        """Sets what the view has not set."""
        add_missing(response, self.headers)
        response.headers.setdefault("Cross-Origin-Opener-Policy", opener_policy.of(request.path_info))
        if self.hsts and request.is_secure():
            add_missing(response, self.hsts)


class Entrance:
    """Routes a request: refuses it, or passes it to static files, the admin with its sessions, or a page.

    Holders have `wallet.sign_in.sessions`, so Django's sessions, accounts and messages are for the admin
    only.
    """

    def __init__(self, get_response: GetResponse) -> None:
        admin: Any = get_response
        for middleware in (MessageMiddleware, AuthenticationMiddleware, OperatorSession):
            admin = convert_exception_to_response(middleware(admin))
        self.pages, self.admin = get_response, admin
        self.common = CommonMiddleware(get_response)
        self.headers = {"X-Frame-Options": settings.X_FRAME_OPTIONS}
        self.static_files: GetResponse = WhiteNoiseMiddleware(self._page)

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if settings.SECURE_SSL_REDIRECT and not request.is_secure() and request.path_info not in MONITORING:
            return HttpResponsePermanentRedirect(f"https://{request.get_host()}{request.get_full_path()}")
        if "\0" in request.path_info:  # none of our URLs has one, and PostgreSQL cannot store it
            raise Http404
        # Some addresses change something. The browser requests the page anew when the person goes there.
        if "prefetch" in request.META.get("HTTP_SEC_PURPOSE", ""):
            return HttpResponse(status=503, headers={"Cache-Control": "no-store"})
        return self.static_files(request)  # calls `_page` if there is no such file

    def _page(self, request: HttpRequest) -> HttpResponse:
        if request.path_info not in MONITORING:
            request.get_host()  # raises DisallowedHost, which is answered with 400
        answer = self.admin if request.path_info.startswith(ADMIN) else self.pages
        response = answer(request)
        add_missing(response, self.headers)
        # Sets Content-Length, and leads from a 404 to the page whose URL ends with a slash.
        return cast(HttpResponse, self.common.process_response(request, response))


class OperatorSession(SessionMiddleware):
    """Django's sessions, for the operators in the admin."""

    def process_request(self, request: HttpRequest) -> None:
        """Ignores cookies that Django cannot have sent: a cookie can contain NUL, spelt `"\\000"`."""
        if not _SESSION_KEY.fullmatch(request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")):
            request.COOKIES.pop(settings.SESSION_COOKIE_NAME, None)
        super().process_request(request)

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """Forbids to cache any page of the admin; Django forbids it for most pages only."""
        response = super().process_response(request, response)
        response.headers.setdefault("Cache-Control", "no-store")
        return response


def add_missing(response: HttpResponse, headers: dict[str, str]) -> None:
    """Adds those headers that the response does not have."""
    for name, value in headers.items():
        response.headers.setdefault(name, value)


def _constant_headers() -> dict[str, str]:
    return {
        content_policy.HEADER: content_policy.written(settings.SECURE_CSP),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": settings.SECURE_REFERRER_POLICY,
    }


def _hsts() -> str:
    """The value of Strict-Transport-Security (RFC 6797 §6.1) for responses over TLS; empty for none."""
    if not settings.SECURE_HSTS_SECONDS:
        return ""
    subdomains = "; includeSubDomains" if settings.SECURE_HSTS_INCLUDE_SUBDOMAINS else ""
    return f"max-age={settings.SECURE_HSTS_SECONDS}{subdomains}"


def _language(request: HttpRequest) -> str:
    """The language of the page; empty for a page that exists only in English."""
    path = request.path_info
    english = path.startswith(ENGLISH) and not path.startswith(SIMULATED_CHECK)
    return "" if english else languages.of_request(request)


def _observe_duration(request: HttpRequest, status: int, seconds: float) -> None:
    """Adds a request to the histogram. Its labels are names that we gave, and never come from the request."""
    match, method = request.resolver_match, request.method
    if match is not None:
        route = ADMIN[1:-1] if match.namespaces else match.url_name or match.route
    else:
        route = "static" if request.path_info.startswith(settings.STATIC_URL) else "none"
    DURATIONS.observe(seconds, route, method if method in _METHODS else "other", status)


def _name_language(response: HttpResponse, language: str) -> None:
    """Names the language of a page in `Content-Language` (RFC 9110 §8.5)."""
    headers = response.headers
    if headers.get("Content-Type", "").startswith("text/html"):
        headers.setdefault("Content-Language", str(get_language()))
        if language and "no-store" not in headers.get("Cache-Control", ""):
            patch_vary_headers(response, ("Accept-Language", "Cookie"))


DURATIONS = Histogram(
    "http_request_duration_seconds",
    "HTTP requests and how long they take, by the name of the route (config/urls.py); `admin` is the whole "
    "admin, `static` files, `none` what matches no route. The rate of the sum is the number of busy threads.",
    *("route", "method", "status"),
)
