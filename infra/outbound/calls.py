"""Calling an address that a relying application registered: https, public networks, no redirects, bounded.

The name is resolved once, and the connection goes to exactly the addresses that were looked at: an answer of
the name server that changes in between changes nothing. No proxy, no cookie, no credential of ours.
"""

import queue
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPResponse
from io import BytesIO
from time import monotonic
from typing import Any

from infra.outbound.targets import Address, Target, TargetError, as_address, is_loopback, is_public, parse

CONNECT_WITHIN = 3.0  # seconds for name, connection and TLS
DONE_WITHIN = 5.0  # seconds for all of it
LONGEST = 65_536  # bytes of an answer's body
_HEAD = 16_384  # bytes of its headers and of chunked encoding
_MOST_ADDRESSES = 4

Resolve = Callable[[str, int], list[str]]


class OutboundError(Exception):
    """There is no answer to go by; the text says why, without what was sent or received."""


class NotReachedError(OutboundError):
    """It came to no connection: nothing was sent."""


class UnusableAnswerError(OutboundError):
    """There was an answer, but not one to go by."""


@dataclass(frozen=True)
class Answer:
    """What came back, whole."""

    status: int
    content_type: str  # without parameters, in lower case
    body: bytes = field(repr=False)
    retry_after: str = ""  # as it stands there: see `retry_after`


def resolve(host: str, port: int) -> list[str]:
    """The addresses of a host, as the system has them."""
    return [str(found[4][0]) for found in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


class Outbound:
    """Calls registered addresses. What it takes for granted can be given: names, networks, authorities."""

    def __init__(
        self,
        *,
        resolve: Resolve = resolve,
        allowed: Callable[[Address], bool] = is_public,
        tls: ssl.SSLContext | None = None,
        loopback: bool = False,
    ) -> None:
        """resolve: may block, it is waited for only so long. tls: which authorities are believed.

        loopback: http on this machine may be called too.
        """
        self._resolve, self._allowed, self._loopback = resolve, allowed, loopback
        self._tls = tls or ssl.create_default_context()

    def get(self, url: str, *, accept: str, headers: Mapping[str, str] | None = None) -> Answer:
        """Read what is there; raises OutboundError."""
        return self._exchange("GET", url, {"Accept": accept, **(headers or {})}, b"")

    def post(self, url: str, body: bytes, *, content_type: str, headers: Mapping[str, str]) -> Answer:
        """Send `body` there, once; raises OutboundError, and then nobody knows whether it arrived."""
        described = {"Content-Type": content_type, "Content-Length": str(len(body)), **headers}
        return self._exchange("POST", url, described, body)

    def _exchange(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        deadline = monotonic() + DONE_WITHIN
        with _failing_as(NotReachedError):
            target = parse(url, loopback=self._loopback)
            message = _request(method, target, headers) + body
            connection = self._connect(target)
        with _failing_as(OutboundError), connection:
            connection.settimeout(_left(deadline))
            connection.sendall(message)
            return _answer(_read(connection, deadline), method)

    def _connect(self, target: Target) -> socket.socket:
        deadline = monotonic() + CONNECT_WITHIN
        failure: OSError = OSError("no address")
        for address in self._addresses(target, deadline):
            try:
                plain = socket.create_connection((address, target.port), timeout=_left(deadline))
            except OSError as error:
                failure = error
                continue
            try:
                plain.settimeout(_left(deadline))
                return self._tls.wrap_socket(plain, server_hostname=target.host) if target.tls else plain
            except BaseException:
                plain.close()
                raise
        raise failure

    def _addresses(self, target: Target, deadline: float) -> list[str]:
        """The addresses of the target, all of which may be connected to; one that may not spoils them all."""
        found = _in_time(lambda: self._resolve(target.host, target.port), _left(deadline))
        addresses = list(dict.fromkeys(found))
        allowed = self._allowed if target.tls else is_loopback
        if not all(allowed(as_address(address)) for address in addresses):
            raise NotReachedError("The host is not on the public Internet.")
        return addresses[:_MOST_ADDRESSES]


@contextmanager
def _failing_as(kind: type[OutboundError]) -> Iterator[None]:
    """Whatever goes wrong inside, as an error of this kind that tells nothing of what was sent."""
    try:
        yield
    except TargetError as error:
        raise kind(str(error.reason)) from error
    except TimeoutError as error:
        raise kind("It took too long.") from error
    except ssl.SSLError as error:
        raise kind(f"TLS failed: {error.reason or 'unknown reason'}.") from error
    except (OSError, HTTPException, ValueError) as error:
        raise kind(f"The connection failed: {type(error).__name__}.") from error


def _in_time(work: Callable[[], list[str]], seconds: float) -> list[str]:
    """What `work` gives, if it does in time; name servers are asked without a time limit of ours."""
    done: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def run() -> None:
        try:
            done.put(work())
        except Exception as error:
            done.put(error)

    threading.Thread(target=run, daemon=True).start()
    try:
        result = done.get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError from None
    if isinstance(result, Exception):
        raise result
    return list(result)


def _left(deadline: float) -> float:
    """How long something may still take; raises TimeoutError when the time is over."""
    if (left := deadline - monotonic()) <= 0:
        raise TimeoutError
    return left


def _request(method: str, target: Target, headers: Mapping[str, str]) -> bytes:
    lines = [f"{method} {target.path} HTTP/1.1", f"Host: {target.authority}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    lines += ["User-Agent: credential-presentation-service", "Accept-Encoding: identity", "Connection: close"]
    text = "\r\n".join([*lines, "", ""])
    if text.count("\n") != len(lines) + 1:
        raise ValueError("a line break in a header")
    return text.encode("ascii")


def _read(connection: socket.socket, deadline: float) -> bytes:
    """Everything until the other side hangs up, which it was asked to do; never more than an answer has."""
    received, whole = bytearray(), None
    while len(received) <= LONGEST + _HEAD:
        connection.settimeout(_left(deadline))
        if not (piece := connection.recv(16_384)):
            return bytes(received)
        received += piece
        whole = whole or _announced(received)
        if whole and len(received) >= whole:
            return bytes(received)
    raise UnusableAnswerError(f"The answer is longer than {LONGEST} bytes.")


def _announced(received: bytearray) -> int | None:
    """How long it is with its headers, by `Content-Length`, for those who do not hang up."""
    end = received.find(b"\r\n\r\n", 0, _HEAD)
    for line in bytes(received[:end]).lower().split(b"\r\n") if end > 0 else ():
        name, _, value = line.partition(b":")
        if name == b"content-length" and value.strip().isdigit():
            return end + 4 + int(value[:20])
    return None


class _Received:
    """Bytes that are all there, as the socket that `http.client` reads from."""

    def __init__(self, received: bytes) -> None:
        self._received = received

    def makefile(self, mode: str) -> BytesIO:
        return BytesIO(self._received)


def _answer(received: bytes, method: str) -> Answer:
    response = HTTPResponse(_Received(received), method=method)  # type: ignore[arg-type]
    response.begin()
    if 300 <= response.status < 400:
        raise UnusableAnswerError("It redirects; the registered address itself has to answer.")
    if response.getheader("Content-Encoding", "identity").lower() != "identity":
        raise UnusableAnswerError("The answer is compressed, which was not asked for.")
    if len(response.headers.get_all("Content-Type", [])) > 1:
        raise UnusableAnswerError("The answer says its media type twice.")
    if "Content-Length" in response.headers and response.length is None and not response.chunked:
        raise UnusableAnswerError("The answer says a length that is none.")
    body = response.read(LONGEST + 1)
    if len(body) > LONGEST:
        raise UnusableAnswerError(f"The answer is longer than {LONGEST} bytes.")
    if response.length:  # so much is missing
        raise UnusableAnswerError("The answer is cut off.")
    retry_after = response.headers.get("Retry-After", "")
    return Answer(response.status, response.headers.get_content_type(), body, retry_after)
