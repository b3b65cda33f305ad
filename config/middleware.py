"""Middleware: the request log, the check of paths, the CSP, and the operators' sessions."""

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
