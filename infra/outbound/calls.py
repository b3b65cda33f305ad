"""Calls addresses that relying parties registered: https, public networks, no redirects, with limits.

The host name is resolved once, and the connection goes to exactly the addresses that were checked, so a DNS
answer that changes in between has no effect. Calls use no proxy and send no cookie or credential.
"""

import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse
from io import BufferedReader, RawIOBase
from itertools import zip_longest
from time import monotonic
from typing import Any, cast

from infra.in_time import in_time
from infra.outbound.targets import Address, Target, TargetError, as_address, is_loopback, is_public, parse

CONNECT_WITHIN = 3.0  # seconds for DNS, connection and TLS
DONE_WITHIN = 5.0  # seconds for the whole call
LONGEST = 65_536  # bytes of a response's body, unless the caller allows more
_HEAD = 16_384  # bytes of its headers and chunk sizes, and of interim responses
_MOST_ADDRESSES = 4

Resolve = Callable[[str, int], list[str]]


class OutboundError(Exception):
    """The call gave no usable response; the text gives the reason without what was sent or received."""


class NotReachedError(OutboundError):
    """No connection was made, so nothing was sent."""


class UnusableAnswerError(OutboundError):
    """The other side answered, but the response is not usable."""


@dataclass(frozen=True)
class Response:
    """A complete response."""

    status: int
    content_type: str  # without parameters, in lower case
    body: bytes = field(repr=False)
    retry_after: str = ""  # the header as received, for `retry_after`


def resolve(host: str, port: int) -> list[str]:
    """The addresses of a host according to the system's resolver; raises OSError."""
    return [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


@cache
def _of_the_system() -> ssl.SSLContext:
    """The authorities that the system trusts. Reading them takes longer than most calls, so they are kept."""
    return ssl.create_default_context()


class Outbound:
    """Calls registered addresses. Tests can replace the resolver, the networks and the authorities."""

    def __init__(
        self,
        *,
        resolve: Resolve = resolve,
        allowed: Callable[[Address], bool] = is_public,
        tls: ssl.SSLContext | None = None,
        loopback: bool = False,
        longest: int = LONGEST,
    ) -> None:
        """Takes what differs in tests and on a developer's machine.

        resolve: gives the addresses of a host; it may block. allowed: decides about an address.
        tls: has the trusted authorities, by default those of the system. loopback: http on this machine may
        be called, too. longest: bytes of a response's body.
        """
        self._resolve, self._allowed, self._loopback = resolve, allowed, loopback
        self._longest = longest
        self._tls = tls

    def get(self, url: str, *, accept: str, headers: Mapping[str, str] | None = None) -> Response:
        """Sends a GET request; raises OutboundError."""
        return self._exchange("GET", url, {"Accept": accept, **(headers or {})}, b"")

    def post(self, url: str, body: bytes, *, content_type: str, headers: Mapping[str, str]) -> Response:
        """Sends a POST request once; raises OutboundError, after which it may have arrived nevertheless."""
        described = {"Content-Type": content_type, "Content-Length": str(len(body)), **headers}
        return self._exchange("POST", url, described, body)

    def _exchange(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Response:
        deadline = monotonic() + DONE_WITHIN
        with _failing_as(NotReachedError):
            target = parse(url, loopback=self._loopback)
            message = _request(method, target, headers) + body
            connection = self._connect(target)
        with _failing_as(OutboundError), connection:
            connection.settimeout(_left(deadline))
            connection.sendall(message)
            received = _Responses(_Received(connection, deadline, self._longest))
            return _answer(received, method, self._longest)

    def _connect(self, target: Target) -> socket.socket:
        """A connection to the first address that answers within its share of the time (compare RFC 8305)."""
        deadline = monotonic() + CONNECT_WITHIN
        failure: OSError = OSError("no address")
        addresses = self._addresses(target, deadline)
        for position, address in enumerate(addresses):
            # An address that drops packets must leave time for the others.
            share = _left(deadline) / (len(addresses) - position)
            try:
                return self._open(address, target, monotonic() + share)
            except ssl.SSLCertVerificationError:
                raise
            except OSError as error:
                failure = error
        raise failure

    def _open(self, address: str, target: Target, deadline: float) -> socket.socket:
        """A connection to this address, with TLS if the target has it; raises OSError."""
        plain = socket.create_connection((address, target.port), timeout=_left(deadline))
        try:
            plain.settimeout(_left(deadline))
            if not target.tls:
                return plain
            return (self._tls or _of_the_system()).wrap_socket(plain, server_hostname=target.host)
        except BaseException:
            plain.close()
            raise

    def _addresses(self, target: Target, deadline: float) -> list[str]:
        """The addresses to try, in order; raises NotReachedError if one that was found is not allowed."""
        resolved = in_time(lambda: self._resolve(target.host, target.port), _left(deadline))
        addresses = list(dict.fromkeys(resolved))
        allowed = self._allowed if target.tls else is_loopback
        if not all(allowed(as_address(address)) for address in addresses):
            raise NotReachedError("The host is not on the public Internet.")
        return _alternating(addresses)[:_MOST_ADDRESSES]


def _alternating(addresses: list[str]) -> list[str]:
    """IPv6 and IPv4 in turn, beginning with the kind that the resolver prefers (RFC 8305 §4).

    A host may have more addresses of one kind than are tried, and the network may not carry that kind.
    """
    first_kind = as_address(addresses[0]).version if addresses else 0
    preferred = [address for address in addresses if as_address(address).version == first_kind]
    others = [address for address in addresses if address not in preferred]
    pairs = zip_longest(preferred, others)
    return [address for pair in pairs for address in pair if address is not None]


@contextmanager
def _failing_as(kind: type[OutboundError]) -> Iterator[None]:
    """Turns every failure inside into an error of this class, which does not reveal what was sent."""
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


def _left(deadline: float) -> float:
    """The seconds left until the deadline; raises TimeoutError when it has passed."""
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


class _Received(RawIOBase):
    """The bytes that the other side sends.

    Reading raises TimeoutError at the deadline, and UnusableAnswerError beyond the most that are read.
    """

    def __init__(self, connection: socket.socket, deadline: float, longest: int) -> None:
        self._connection, self._deadline, self._longest = connection, deadline, longest
        self._left = longest + _HEAD

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Reads at least one byte, unless the other side has closed the connection."""
        if self._left <= 0:
            raise _too_long(self._longest)
        self._connection.settimeout(_left(self._deadline))
        length = self._connection.recv_into(buffer)
        self._left -= length
        return length


class _Responses(BufferedReader):
    """Several responses one after the other, in place of the socket that `http.client` reads from."""

    def makefile(self, mode: str) -> "_Responses":
        return self

    def readline(self, size: int | None = -1) -> bytes:
        """A line of the headers or of the chunk sizes; raises UnusableAnswerError for a longer one."""
        line = super().readline(size)
        if len(line) > _HEAD:
            raise _too_long(_HEAD)
        return line

    def close(self) -> None:
        """Nothing: `http.client` closes it after an interim response. Our caller closes the connection."""

    def flush(self) -> None:
        """Nothing: a response that is collected later would flush what is closed."""


def _too_long(most: int) -> UnusableAnswerError:
    return UnusableAnswerError(f"The answer is longer than {most} bytes.")


def _final(received: _Responses, method: str) -> HTTPResponse:
    """The response behind any interim ones, such as 103 Early Hints (RFC 9110 §15.2)."""
    while True:
        response = HTTPResponse(cast(socket.socket, received), method=method)
        response.begin()
        if response.status >= 200:
            return response
        if response.status == HTTPStatus.SWITCHING_PROTOCOLS:
            raise UnusableAnswerError("It changes the protocol, which we did not request.")


def _answer(received: _Responses, method: str, longest: int = LONGEST) -> Response:
    """The final response, read no further than its end (RFC 9112 §6.3): some servers never hang up."""
    response = _final(received, method)
    if 300 <= response.status < 400:
        raise UnusableAnswerError("It redirects; the registered address itself has to answer.")
    if response.getheader("Content-Encoding", "identity").lower() != "identity":
        raise UnusableAnswerError("The answer is compressed, which we did not request.")
    if len(response.headers.get_all("Content-Type", [])) > 1:
        raise UnusableAnswerError("The answer has two media types.")
    if "Content-Length" in response.headers and response.length is None and not response.chunked:
        raise UnusableAnswerError("The answer has an unreadable length.")
    body = response.read(longest + 1)
    if len(body) > longest:
        raise _too_long(longest)
    if response.length:  # the number of missing bytes
        raise UnusableAnswerError("The answer is cut off.")
    retry_after = response.headers.get("Retry-After", "")
    return Response(response.status, response.headers.get_content_type(), body, retry_after)
