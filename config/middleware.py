"""Middleware: the request log, the check of paths, the language, the CSP, and the operators' sessions."""

import re
import secrets
from collections.abc import Callable
from time import perf_counter
from typing import Any

import structlog
from django.conf import settings
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.messages.middleware import MessageMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers
from django.utils.deprecation import MiddlewareMixin
from django.utils.translation import activate, get_language, override

from infra import languages

log = structlog.get_logger(__name__)
GetResponse = Callable[[HttpRequest], HttpResponse]
ADMIN = "/admin/"
# Pages for operators and developers are in English only, as are all endpoints for machines.
ENGLISH = (ADMIN, "/metrics", "/oauth/", "/playground/", "/sandbox/", "/.well-known/")
SIMULATED_CHECK = "/sandbox/identity/"  # a step of the holder's flow, and so in the language of the holder
_SESSION_KEY = re.compile("[a-z0-9]{32}")


class RequestLogMiddleware:
    """Logs one line per request: method, route, status, milliseconds, and a reference that people can quote.

    The path and the query are left out, because they contain e-mail addresses, nonces and payments.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        started = perf_counter()
        reference = secrets.token_hex(4).upper()
        request.reference = reference  # type: ignore[attr-defined]
        structlog.contextvars.bind_contextvars(reference=reference)
        try:
            response = self.get_response(request)
            match = request.resolver_match
            log.info(
                "request",
                method=request.method,
                route=match.route if match else None,
                status=response.status_code,
                milliseconds=round((perf_counter() - started) * 1000, 1),
            )
            return response
        finally:
            structlog.contextvars.unbind_contextvars("reference")


class ReadablePathMiddleware:
    """Answers 404 to paths with NUL: none of our URLs has one, and PostgreSQL cannot store it."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if "\0" in request.path_info:
            raise Http404
        return self.get_response(request)


class LanguageMiddleware:
    """Activates the language of the page, and names it in `Content-Language` (RFC 9110 §8.5).

    Sets `request.page_language`, which is empty on pages that exist only in English.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        path = request.path_info
        english = path.startswith(ENGLISH) and not path.startswith(SIMULATED_CHECK)
        language = "" if english else languages.of_request(request)
        request.page_language = language  # type: ignore[attr-defined]
        with override(language or settings.LANGUAGE_CODE):
            response = self.get_response(request)
            if response.headers.get("Content-Type", "").startswith("text/html"):
                response.headers.setdefault("Content-Language", str(get_language()))
                if language and "no-store" not in response.headers.get("Cache-Control", ""):
                    patch_vary_headers(response, ("Accept-Language", "Cookie"))
        return response

    def process_view(self, request: HttpRequest, view: Any, *arguments: Any) -> None:
        """Endpoints for machines (`machine_errors.for_machines`) answer in English."""
        if getattr(view, "for_machines", False):
            activate(settings.LANGUAGE_CODE)


class ContentSecurityPolicyMiddleware:
    """Sends SECURE_CSP with every response (W3C CSP Level 3); a view may set `response._csp_config` instead.

    The names are those of Django 6.0, which has such a middleware.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
        self.default = serialise(settings.SECURE_CSP)

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        own = getattr(response, "_csp_config", None)
        response.headers.setdefault(
            "Content-Security-Policy", self.default if own is None else serialise(own)
        )
        return response


class _InTheAdmin(MiddlewareMixin):
    """Runs a middleware of Django for the admin only; holders have `wallet.sessions` instead."""

    def __call__(self, request: HttpRequest) -> Any:
        answer = super().__call__ if request.path_info.startswith(ADMIN) else self.get_response
        return answer(request)


class OperatorSessionMiddleware(_InTheAdmin, SessionMiddleware):
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


class OperatorAuthenticationMiddleware(_InTheAdmin, AuthenticationMiddleware):
    pass


class OperatorMessageMiddleware(_InTheAdmin, MessageMiddleware):
    pass


def serialise(policy: dict[str, list[str]]) -> str:
    """The policy as the value of the header."""
    return "; ".join(f"{directive} {' '.join(sources)}" for directive, sources in policy.items())
