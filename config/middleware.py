"""What happens to every request before and after the rooms: one log line, a path that can be looked up,
the CSP, and who operates.
"""

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
from django.utils.deprecation import MiddlewareMixin

log = structlog.get_logger(__name__)
GetResponse = Callable[[HttpRequest], HttpResponse]
ADMIN = "/admin/"
_SESSION_KEY = re.compile("[a-z0-9]{32}")


class RequestLogMiddleware:
    """One line per request: method, route, status, milliseconds and a reference people can quote.

    The path and query are left out on purpose: they carry e-mail addresses, nonces and payments.
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
    """No address of ours has a NUL in it, and PostgreSQL takes none: there is nothing there (404)."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if "\0" in request.path_info:
            raise Http404
        return self.get_response(request)


class ContentSecurityPolicyMiddleware:
    """Sends `SECURE_CSP` with every response; a view may put its own policy on `response._csp_config`.

    Named and shaped as in Django 6.0, which brings its own (W3C CSP Level 3).
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
    """Django's sessions, users and messages are the operators': holders pass them by (`wallet.sessions`)."""

    def __call__(self, request: HttpRequest) -> Any:
        answer = super().__call__ if request.path_info.startswith(ADMIN) else self.get_response
        return answer(request)


class OperatorSessionMiddleware(_InTheAdmin, SessionMiddleware):
    def process_request(self, request: HttpRequest) -> None:
        """Only what Django itself could have sent is looked up: a cookie can spell NUL (`"\\000"`)."""
        if not _SESSION_KEY.fullmatch(request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")):
            request.COOKIES.pop(settings.SESSION_COOKIE_NAME, None)
        super().process_request(request)

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """What operators see is kept nowhere; Django itself says so of most pages, not of all."""
        response = super().process_response(request, response)
        response.headers.setdefault("Cache-Control", "no-store")
        return response


class OperatorAuthenticationMiddleware(_InTheAdmin, AuthenticationMiddleware):
    pass


class OperatorMessageMiddleware(_InTheAdmin, MessageMiddleware):
    pass


def serialise(policy: dict[str, list[str]]) -> str:
    """A policy as the header's value."""
    return "; ".join(f"{directive} {' '.join(sources)}" for directive, sources in policy.items())
