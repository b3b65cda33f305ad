"""Sends requests through gunicorn's parser to the WSGI application, without a socket."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from gunicorn.config import Config
from gunicorn.http.errors import ParseException
from gunicorn.http.parser import RequestParser
from gunicorn.http.wsgi import create

PORT = 8000
HOST = f"localhost:{PORT}"
BASE_URL = f"http://{HOST}"
METRICS_TOKEN = "0123456789abcdefghijklmnopqrstuvwxyzABCD"


@dataclass(frozen=True)
class Wire:
    """One request: its first line, its headers as Latin-1, and its body."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    length: str | None = None  # the Content-Length to send; None: the true one
    chunked: bool = False

    def with_header(self, name: str, value: str) -> "Wire":
        """The request with this header instead of any of the same name."""
        others = tuple((other, said) for other, said in self.headers if other.lower() != name.lower())
        return replace(self, headers=(*others, (name, value)))

    def octets(self) -> bytes:
        """The request as bytes (RFC 9112)."""
        headers = [f"{name}: {value}" for name, value in self.headers]
        body = self.body
        if self.chunked:
            headers.append("Transfer-Encoding: chunked")
            body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body) if body else b"0\r\n\r\n"
        elif self.length is not None or body or self.method in ("POST", "PUT", "PATCH"):
            headers.append(f"Content-Length: {len(body) if self.length is None else self.length}")
        head = "\r\n".join([f"{self.method} {self.target} HTTP/1.1", *headers, "", ""])
        return head.encode("latin-1", "replace") + body


@dataclass(frozen=True)
class Reply:
    """The answer; or `refused` by gunicorn; or the exception that Django did not catch (`escaped`)."""

    status: int = 0
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    path: str = ""  # as Django resolves it
    query: str = ""
    method: str = ""
    host: str = HOST
    refused: bool = False
    escaped: BaseException | None = field(default=None, repr=False)

    def header(self, name: str) -> str | None:
        """The value of a header; upper and lower case are equal."""
        return next((value for other, value in self.headers if other.lower() == name.lower()), None)

    def at_its_own_address(self) -> "Reply":
        """As if it had come from the address that it names as its own, which browsers show for it."""
        own = self.header("Content-Location")
        return replace(self, path=own, query="") if own else self

    @property
    def location(self) -> str:
        return self.header("Location") or ""

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")


class _NoSocket:
    """The connection, on which nothing arrives after the request; discards gunicorn's `100 Continue`."""

    def send(self, octets: bytes) -> None:
        pass

    def recv(self, size: int) -> bytes:
        return b""

    def shutdown(self, how: int) -> None:
        pass


class Gateway:
    """Sends requests to the application as gunicorn does, with the settings of deploy/gunicorn.conf.py."""

    def __init__(self, application: Any) -> None:
        self._application = application
        self._settings = Config()
        self._settings.set("limit_request_line", 8190)  # deploy/gunicorn.conf.py
        self._settings.set("forwarded_allow_ips", "127.0.0.1")

    def send(self, wire: Wire) -> Reply:
        """The reply. Never raises, whatever the application does."""
        try:
            request = next(RequestParser(self._settings, iter([wire.octets()]), ("127.0.0.1", 50_000)))
            server = ("127.0.0.1", str(PORT))
            _, environ = create(request, _NoSocket(), ("127.0.0.1", 50_000), server, self._settings)
        except (ParseException, StopIteration):
            return Reply(refused=True)
        environ["wsgi.errors"] = sys.stderr
        return self._answered(environ)

    def _answered(self, environ: dict[str, Any]) -> Reply:
        said: list[Any] = []

        def start_response(status: str, headers: Iterable[tuple[str, str]], error: Any = None) -> None:
            said[:] = [int(status.split()[0]), tuple(headers)]

        path = environ["PATH_INFO"].encode("latin-1").decode("utf-8", "replace")
        about = {"path": path, "query": environ["QUERY_STRING"], "method": environ["REQUEST_METHOD"]}
        about["host"] = environ.get("HTTP_HOST", HOST)
        try:
            answer = self._application(environ, start_response)
            try:
                body = b"".join(answer)
            finally:
                if hasattr(answer, "close"):
                    answer.close()
        except Exception as error:
            return Reply(escaped=error, **about)
        return Reply(said[0], said[1], body, **about)
