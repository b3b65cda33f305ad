"""Refuses what pages of other sites make a browser send: Fetch Metadata §2.3, RFC 6454 §7, decision 27."""

from typing import Any

import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import CsrfViewMiddleware

from config import views
from config.middleware import ADMIN, GetResponse

log = structlog.get_logger(__name__)
SAFE = frozenset(("GET", "HEAD", "OPTIONS", "TRACE"))  # methods that change nothing (RFC 9110 §9.2.1)
FETCH_SITE, ORIGIN = "HTTP_SEC_FETCH_SITE", "HTTP_ORIGIN"


class CrossSiteCheck:
    """Lets a request change something only if its browser says that it comes from a page of this service.

    Two kinds of views are apart. The admin has Django's check, with tokens. A view with Django's
    `csrf_exempt` is for machines, which have no cookie that another site could use, or changes nothing.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
        self.admin = CsrfViewMiddleware(get_response)

    def __call__(self, request: HttpRequest) -> Any:
        answer = self.admin if request.path_info.startswith(ADMIN) else self.get_response
        return answer(request)

    def process_view(
        self, request: HttpRequest, view: Any, arguments: Any, named: Any
    ) -> HttpResponse | None:
        if request.path_info.startswith(ADMIN):
            return self.admin.process_view(request, view, arguments, named)
        if request.method in SAFE or getattr(view, "csrf_exempt", False):
            return None
        said = request.META.get(FETCH_SITE), request.META.get(ORIGIN)
        if is_from_own_page(*said, own_origin=settings.BASE_URL):
            return None
        log.warning("cross_site_request_refused", why=_why(*said))
        return views.cross_site(request)


def is_from_own_page(fetch_site: str | None, origin: str | None, *, own_origin: str) -> bool:
    """Whether a browser says that a page of this service made it send a request.

    fetch_site, origin: `Sec-Fetch-Site` and `Origin`, which no page can set; None if the browser sent none.
    Browsers from before 2023 may lack the first, which decides alone if it is there. Pure.
    """
    return fetch_site == "same-origin" if fetch_site is not None else origin == own_origin


def _why(fetch_site: str | None, origin: str | None) -> str:
    """Which header said something else, for the log, which does not repeat what a client sent."""
    if fetch_site is not None:
        return "Sec-Fetch-Site"
    return "neither Sec-Fetch-Site nor Origin" if origin is None else "Origin"
