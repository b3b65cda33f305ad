"""`Transport`: calls the service with limits, over connections that are kept. Replace it by any `Fetch`."""

import io
import socket
import ssl
import threading
import time
import urllib.request
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any, TypeAlias
from urllib.parse import unquote, urlsplit

from credential_presentation.errors import Unavailable

LONGEST = 2**23  # bytes of a body
MOST_IDLE = 8  # connections that are kept for one host


@dataclass(frozen=True)
class Request:
    """A call of the service: a GET or, with a body, a POST."""

    url: str
    body: bytes | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def method(self) -> str:
        return "GET" if self.body is None else "POST"


@dataclass(frozen=True)
class Response:
    """What the service answered; redirects are not followed."""

    status: int
    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    def header(self, name: str) -> str:
        """A header by its name in lower case; "" if it is not there."""
        return next((value for key, value in self.headers.items() if key.lower() == name), "")

    @property
    def text(self) -> str:
        return self.body.decode(errors="replace")


Fetch: TypeAlias = Callable[[Request], Response]  # raises `Unavailable` or `OSError` if there is no response


class Transport:
    """Calls with `http.client`. Threads may share it.

    `timeout` is how many seconds a call may take once it is connected, and each step until then. `context` is
    that of TLS, such as `ssl.create_default_context(cafile="private-ca.pem")`. `proxy` is the address of one;
    if it is None, the variables `https_proxy`, `http_proxy` and `no_proxy` of the environment count.
    """

    def __init__(
        self, *, timeout: float = 5, context: ssl.SSLContext | None = None, proxy: str | None = None
    ) -> None:
        self._timeout, self._context, self._proxy = timeout, context, proxy
        self._idle: dict[str, list[HTTPConnection]] = {}
        self._lock = threading.Lock()

    def __call__(self, request: Request) -> Response:
        """Raises `Unavailable` if there is no response in time."""
        parts = urlsplit(request.url)
        origin = f"{parts.scheme}://{parts.netloc}"
        proxy = self._proxy_of(parts.scheme, parts.hostname or "")
        target = parts._replace(scheme="", netloc="", fragment="").geturl() or "/"
        if proxy and parts.scheme == "http":
            target = request.url
        until = time.monotonic() + self._timeout
        try:
            while True:
                with self._lock:
                    kept = self._idle.get(origin)
                    connection = kept.pop() if kept else None
                fresh = connection is None
                connection = connection or self._connect(origin, proxy)
                try:
                    return self._exchange(connection, request, target, origin, until)
                except (HTTPException, ConnectionError):
                    connection.close()
                    if fresh:  # the server may have closed one that was kept, before it read the request
                        raise
                except BaseException:
                    connection.close()
                    raise
        except (OSError, ValueError, HTTPException) as error:
            raise Unavailable(f"{request.url} cannot be read ({type(error).__name__})") from error

    def close(self) -> None:
        """Closes the connections that are kept. It can be used again afterwards."""
        with self._lock:
            idle, self._idle = self._idle, {}
        for connection in [connection for kept in idle.values() for connection in kept]:
            connection.close()

    def __del__(self) -> None:
        if hasattr(self, "_lock"):  # not if the constructor was called with a wrong name
            self.close()

    def _exchange(
        self, connection: HTTPConnection, request: Request, target: str, origin: str, until: float
    ) -> Response:
        connection.timeout = max(until - time.monotonic(), 0.001)
        if connection.sock:
            connection.sock.settimeout(connection.timeout)
        connection.response_class = _response_until(until)
        connection.request(request.method, target, request.body, dict(request.headers))
        answer = connection.getresponse()
        body = _read(answer)
        response = Response(answer.status, body, dict(answer.getheaders()))
        if answer.will_close:
            connection.close()
        else:
            with self._lock:
                kept = self._idle.setdefault(origin, [])
                kept.append(connection)
                closed = [kept.pop(0) for _ in range(len(kept) - MOST_IDLE)]
            for each in closed:
                each.close()
        return response

    def _proxy_of(self, scheme: str, host: str) -> str:
        if self._proxy is not None:
            return self._proxy
        return "" if urllib.request.proxy_bypass(host) else urllib.request.getproxies().get(scheme, "")

    def _connect(self, origin: str, proxy: str) -> HTTPConnection:
        """A connection to the origin or, for its calls, to the proxy."""
        own, via = urlsplit(origin), urlsplit(proxy)
        at, secure = (via if proxy else own), own.scheme == "https"
        if own.scheme not in ("http", "https") or not at.hostname:
            raise ValueError("no address of HTTP")
        if secure:
            context = self._context or ssl.create_default_context()
            connection: HTTPConnection = HTTPSConnection(
                at.hostname, at.port, timeout=self._timeout, context=context
            )
        else:
            connection = HTTPConnection(at.hostname, at.port, timeout=self._timeout)
        if proxy and secure:
            known = f"{unquote(via.username)}:{unquote(via.password or '')}" if via.username else ""
            basic = {"Proxy-Authorization": f"Basic {b64encode(known.encode()).decode()}"} if known else {}
            connection.set_tunnel(own.hostname or "", own.port or 443, basic)
        return connection


def _response_until(until: float) -> type[HTTPResponse]:
    """The class of a response that is read until this moment at the latest.

    The timeout of a socket begins anew with each byte, so a server that sends one after another has no end.
    """

    class Timed(HTTPResponse):
        def __init__(self, sock: socket.socket, *arguments: Any, **options: Any) -> None:
            super().__init__(sock, *arguments, **options)
            self.fp = io.BufferedReader(_TimedFile(sock, self.fp.detach(), until))

    return Timed


class _TimedFile(io.RawIOBase):
    def __init__(self, sock: socket.socket, file: io.RawIOBase, until: float) -> None:
        self._sock, self._file, self._until = sock, file, until

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._sock.settimeout(max(self._until - time.monotonic(), 0.001))
        read: int | None = self._file.readinto(buffer)
        return read

    def close(self) -> None:
        self._file.close()
        super().close()


def _read(answer: HTTPResponse) -> bytes:
    received = b""
    while chunk := answer.read1(65_536):
        received += chunk
        if len(received) > LONGEST:
            raise OSError("too long")
    return received
