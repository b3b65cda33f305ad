"""A browser inside this process: calls our own views like a request from outside, and keeps cookies.

It is for the holder in `driving`. No middleware runs, so nothing is logged twice, and no form is refused.
The developer’s request log gets its steps under the reference of the call.
Limits count its requests by the client address that it is given. Limits for strangers do not count them: the
caller's calls are counted already.
"""

from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from typing import cast
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.core.handlers.exception import convert_exception_to_response
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.test import RequestFactory
from django.urls import resolve
from django.utils import timezone

from presentation.requests.interactions import COUNTED_ALREADY
from sandbox.request_log.recording import record
from wallet.models import Wallet
from wallet.sign_in import sessions

FORM = "application/x-www-form-urlencoded"


class InnerBrowser:
    """Requests addresses of this service, one after the other. The caller follows redirects."""

    def __init__(self, client: str | None) -> None:
        """client: a network address, as `infra.browser.address` returns it."""
        address, base = (client or "").partition("/")[0], urlsplit(settings.BASE_URL)
        self._secure = base.scheme == "https"
        self._requests = RequestFactory(
            headers={
                "host": base.netloc,
                "x-forwarded-for": ",".join([address] * settings.TRUSTED_PROXY_COUNT),
            },
            REMOTE_ADDR=address,
        )
        self._requests.defaults[COUNTED_ALREADY] = "yes"

    def get(self, address: str) -> HttpResponseBase:
        """The response to GET."""
        return self._send(self._requests.get(address, secure=self._secure))

    def post(self, address: str, fields: Mapping[str, str | Sequence[str]]) -> HttpResponseBase:
        """The response to a submitted form; a field may have several values."""
        form = urlencode(fields, doseq=True)
        return self._send(self._requests.post(address, form, FORM, secure=self._secure))

    def sign_in(self, wallet: Wallet, *, by_passkey: bool) -> None:
        """Sign this browser in to `wallet`, as after a code or a passkey, without either."""
        response = HttpResponse()
        sessions.start(self._requests.post("/"), response, wallet, by_passkey=by_passkey, now=timezone.now())
        self._requests.cookies.update(response.cookies)

    def sign_out(self) -> None:
        """Delete the session."""
        sessions.end(self._requests.post("/"), HttpResponse())

    def _send(self, request: HttpRequest) -> HttpResponseBase:
        response = cast(HttpResponse, convert_exception_to_response(_view_of)(request))
        record(request, response)
        self._requests.cookies.update(response.cookies)
        return response


class PageText(HTMLParser):
    """The main part of a page: its `heading`, the other `text`, and the targets of its `links`."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self._inside: list[str] = []
        self._found: dict[str, list[str]] = {"h1": [], "main": []}
        self.feed(html)
        self.heading, self.text = (" ".join(" ".join(parts).split()) for parts in self._found.values())

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag in self._found:
            self._inside.append(tag)
        if self._inside and tag == "a":
            self.links.append(dict(attributes).get("href") or "")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._inside:
            self._inside.remove(tag)

    def handle_data(self, data: str) -> None:
        if self._inside:
            self._found[self._inside[-1]].append(data)


def _view_of(request: HttpRequest) -> HttpResponseBase:
    request.resolver_match = match = resolve(request.path_info)
    response: HttpResponseBase = match.func(request, *match.args, **match.kwargs)
    return response
