"""A browser inside this process: it asks our own views as a request from outside would, and keeps cookies.

For a holder without a screen (`holder`). No middleware runs, so nothing is logged twice and no form token is
asked for. Limits count it by the client address it is given. Requests of strangers are not counted again:
the caller's calls are counted already.
"""

from html.parser import HTMLParser
from io import BytesIO
from typing import cast
from urllib.parse import unquote_to_bytes, urlencode, urlsplit

from django.conf import settings
from django.core.handlers.exception import convert_exception_to_response
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import resolve
from django.utils import timezone

from presentation.requests.interactions import COUNTED_ALREADY
from wallet import sessions
from wallet.models import Wallet


class InnerBrowser:
    """Opens addresses of this service, one after the other; redirects are the caller's to follow."""

    def __init__(self, client: str) -> None:
        """client: a network address, as `infra.browser.address` has it."""
        self._cookies: dict[str, str] = {}
        self._address = client.partition("/")[0]

    def get(self, address: str) -> HttpResponseBase:
        """The response to GET."""
        return self._send(self._request("GET", address))

    def post(self, address: str, **fields: str) -> HttpResponseBase:
        """The response to a form."""
        return self._send(self._request("POST", address, urlencode(fields).encode()))

    def sign_in(self, wallet: Wallet) -> None:
        """From now on this browser is signed in to `wallet`, as if a code had been typed."""
        response = HttpResponse()
        sessions.start(self._request("POST", "/"), response, wallet, now=timezone.now())
        self._keep_cookies(response)

    def sign_out(self) -> None:
        """Leave no session behind."""
        sessions.end(self._request("POST", "/"), HttpResponse())

    def _request(self, method: str, address: str, body: bytes = b"") -> HttpRequest:
        parts, base = urlsplit(address), urlsplit(settings.BASE_URL)
        environ = {
            "REQUEST_METHOD": method,
            # WSGI has the octets of the path as Latin-1 (PEP 3333).
            "PATH_INFO": unquote_to_bytes(parts.path).decode("latin-1"),
            "QUERY_STRING": parts.query,
            "SERVER_NAME": base.hostname,
            "SERVER_PORT": str(base.port or {"https": 443}.get(base.scheme, 80)),
            "HTTP_HOST": base.netloc,
            "REMOTE_ADDR": self._address,
            "HTTP_X_FORWARDED_FOR": ",".join([self._address] * settings.TRUSTED_PROXY_COUNT),
            "HTTP_COOKIE": "; ".join(f"{name}={value}" for name, value in self._cookies.items()),
            "CONTENT_TYPE": "application/x-www-form-urlencoded" if body else "",
            "CONTENT_LENGTH": str(len(body)),
            "wsgi.url_scheme": base.scheme,
            "wsgi.input": BytesIO(body),
            COUNTED_ALREADY: True,
        }
        return WSGIRequest(environ)

    def _send(self, request: HttpRequest) -> HttpResponseBase:
        response = cast(HttpResponseBase, convert_exception_to_response(_view_of)(request))
        self._keep_cookies(response)
        return response

    def _keep_cookies(self, response: HttpResponseBase) -> None:
        for name, cookie in response.cookies.items():
            self._cookies[name] = cookie.value


class Words(HTMLParser):
    """The words of a page's main part: `heading`, and `text` without it; and where its `links` lead."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self._inside: list[str] = []
        self._found: dict[str, list[str]] = {"h1": [], "main": []}
        self.feed(html)

    @property
    def heading(self) -> str:
        return " ".join(" ".join(self._found["h1"]).split())

    @property
    def text(self) -> str:
        return " ".join(" ".join(self._found["main"]).split())

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
