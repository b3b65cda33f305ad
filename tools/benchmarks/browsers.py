"""A browser reduced to what a flow needs: one kept connection, cookies, redirects and one form.

Plain sockets, so that the client takes little of the machine it shares with the server it measures.
"""

import html
import re
import socket
import ssl
from types import TracebackType
from typing import NamedTuple, Self
from urllib.parse import urlencode

HOST = "wallet.example"
ORIGIN = f"https://{HOST}"
PATIENCE = 60.0  # seconds for one answer
MOST_REDIRECTS = 5

_MAIN = re.compile(rb"<main\b.*</main>", re.DOTALL)  # without the forms of the header and the footer
_ACTION = re.compile(rb"<form\b[^>]*\baction=\"([^\"]+)\"")
_HIDDEN = re.compile(rb"<input\b[^>]*\btype=\"hidden\"[^>]*>")
_NAME = re.compile(rb"\bname=\"([^\"]*)\"")
_VALUE = re.compile(rb"\bvalue=\"([^\"]*)\"")


class Answer(NamedTuple):
    status: int
    location: str | None
    body: bytes


class Browser:
    """Talks to 127.0.0.1:`port` as if a proxy had taken TLS off, which is how both sites are deployed.

    With `tls` it talks to that proxy, whose certificate it does not check.
    """

    def __init__(
        self, port: int, cookies: dict[str, str] | None = None, *, host: str = HOST, tls: bool = False
    ) -> None:
        self.cookies, self._host, self.requests = dict(cookies or {}), host, 0
        self._socket = self._connect(port)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls:
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            self._socket = context.wrap_socket(self._socket)

    def _connect(self, port: int) -> socket.socket:
        return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._socket.close()

    def get(self, target: str) -> Answer:
        return self._exchange(self._head("GET", target) + b"\r\n")

    def post(self, target: str, fields: dict[str, str], **headers: str) -> Answer:
        """`headers` are further ones, with `_` for `-`."""
        body = urlencode(fields).encode()
        head = self._head("POST", target)
        head += "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items()).encode()
        head += b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n" % len(body)
        head += f"Origin: https://{self._host}\r\nSec-Fetch-Site: same-origin\r\n\r\n".encode()
        return self._exchange(head + body)

    def give(self, start: str, button: tuple[str, str]) -> str:
        """Go where `start` leads and press `button` on the page there; the address outside that results."""
        target, page = self._follow(start, self.get(start))
        if page.status != 200:
            raise RuntimeError(f"{target} answered {page.status}: {page.body[:2000]!r}")
        main = _MAIN.search(page.body)
        body = main[0] if main else page.body
        actions = _ACTION.findall(body)
        target = html.unescape(actions[-1].decode()) if actions else target
        fields = dict([_field(tag) for tag in _HIDDEN.findall(body)] + [button])
        outside, answer = self._follow(target, self.post(target, fields))
        if answer.location is None:
            raise RuntimeError(f"{outside} answered {answer.status}: {answer.body[:2000]!r}")
        return answer.location

    def _follow(self, target: str, answer: Answer) -> tuple[str, Answer]:
        """Follow redirects as long as they stay here."""
        for _ in range(MOST_REDIRECTS):
            location = (answer.location or "").removeprefix(f"https://{self._host}")
            if not location.startswith("/"):
                return target, answer
            target = location
            answer = self.get(target)
        raise RuntimeError(f"more than {MOST_REDIRECTS} redirects, last to {target}")

    def _head(self, method: str, target: str) -> bytes:
        head = f"{method} {target} HTTP/1.1\r\nHost: {self._host}\r\nX-Forwarded-Proto: https\r\n"
        head += "Accept: text/html\r\nAccept-Language: en-GB\r\n"
        if self.cookies:
            head += "Cookie: " + "; ".join(f"{name}={value}" for name, value in self.cookies.items()) + "\r\n"
        return head.encode()

    def _exchange(self, message: bytes) -> Answer:
        self.requests += 1
        self._socket.sendall(message)
        received = b""
        while (end := received.find(b"\r\n\r\n")) < 0:
            received += self._receive()
        status, *lines = received[:end].decode("latin-1").split("\r\n")
        location, length = None, 0
        for line in lines:
            name, _, value = line.partition(": ")
            match name.lower():
                case "content-length":
                    length = int(value)
                case "location":
                    location = value
                case "set-cookie":
                    self._keep(value)
                case "transfer-encoding":
                    raise RuntimeError("a chunked answer: this client reads Content-Length only")
        body = received[end + 4 :]
        while len(body) < length:
            body += self._receive()
        return Answer(int(status[9:12]), location, body)

    def _receive(self) -> bytes:
        received = self._socket.recv(65536)
        if not received:
            raise ConnectionError("the server hung up")
        return received

    def _keep(self, cookie: str) -> None:
        name, _, value = cookie.partition(";")[0].partition("=")
        if value:
            self.cookies[name] = value
        else:  # the server deletes it
            self.cookies.pop(name, None)


def _field(tag: bytes) -> tuple[str, str]:
    name, value = _NAME.search(tag), _VALUE.search(tag)
    return html.unescape(name[1].decode()) if name else "", html.unescape(value[1].decode()) if value else ""
