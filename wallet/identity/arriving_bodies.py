"""Large bodies, which clients send as slowly as they like: their time, number and senders have limits.

The proxy passes these bodies on as they arrive (`deploy/nginx.conf`), so that the service refuses strangers
before their bodies are taken, and ends what takes too long. A proxy can only limit the time between two
bytes. A thread of this process waits meanwhile, so these waits count with those for other parties
(`infra.waiting`).
"""

import socket
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from threading import Lock, Timer
from typing import BinaryIO, Protocol, TypeVar, cast

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from infra import browser
from infra.waiting import NoThreadFreeError, waiting_for

UNREAD = "presentation.unread_body"  # in the WSGI environment: the answer was made before the body was read
DROPPED_FOR = 2.0  # seconds; a proxy closes the connection as soon as it has the answer
View = TypeVar("View", bound=Callable[..., HttpResponseBase])

_senders: set[Hashable] = set()  # whose bodies arrive in this process right now
_senders_lock = Lock()


class _Marked(Protocol):
    leaves_the_body_unread: bool


class BodyNotWholeError(OSError):
    """The body ended before its last byte: the client went away, or its time was over."""


class ArrivingBody:
    """A stream of exactly `length` bytes; an end before that is an error, and never a shorter body."""

    def __init__(self, stream: BinaryIO, length: int) -> None:
        self._stream, self._missing = stream, length

    @property
    def is_whole(self) -> bool:
        """Whether every byte was read."""
        return not self._missing

    def read(self, size: int) -> bytes:
        """The next `size` bytes, fewer only at the end of the body. Raises `BodyNotWholeError`."""
        wanted = min(size, self._missing)
        try:
            data = self._stream.read(wanted) if wanted else b""
        except OSError as error:  # such as a reset by the client
            raise BodyNotWholeError from error
        if len(data) < wanted:
            raise BodyNotWholeError
        self._missing -= wanted
        return data


@contextmanager
def arriving(request: HttpRequest, sender: Hashable, *, seconds: float) -> Iterator[ArrivingBody]:
    """The body of the request, while the block runs: for at most `seconds`, however steadily bytes arrive.

    sender: whose body it is. In one process a sender, and a client address that can be read, has one body on
    its way at a time, so that nobody holds the places of everybody. Raises `NoThreadFreeError` at once if
    there is no place. A body without `Content-Length` has no bytes: nobody can tell when it is whole.
    """
    client = browser.address(request)
    with ExitStack() as held:
        held.enter_context(_the_only_body_of(("sender", sender)))
        if client is not None:
            held.enter_context(_the_only_body_of(("client", client)))
        held.enter_context(waiting_for(("body", client or sender)))
        held.enter_context(_ended_after(seconds, request.META.get("gunicorn.socket")))
        length = request.META.get("CONTENT_LENGTH") or ""
        has_length = length.isascii() and length.isdigit()
        body = ArrivingBody(request.META["wsgi.input"], int(length) if has_length else 0)
        yield body
        if has_length and body.is_whole:
            request.META.pop(UNREAD, None)


def may_leave_the_body_unread(view: View) -> View:
    """Marks a view that may answer before the body has arrived; `AnswerBeforeBody` then sends its answer."""
    cast(_Marked, view).leaves_the_body_unread = True
    return view


def expect_no_body(request: HttpRequest) -> None:
    """Notes that the body of a request to such a view is unread. Called before anything can refuse it."""
    if request.method not in ("GET", "HEAD"):
        request.META[UNREAD] = True


class AnswerBeforeBody:
    """A WSGI answer after which the rest of the body is read and dropped, until the client has the answer.

    If the connection were closed while the proxy still sends the body, the proxy would take that for an error
    of this instance, and might not read the answer at all.
    """

    def __init__(self, answer: Iterable[bytes], connection: socket.socket) -> None:
        self._answer, self._connection = answer, connection

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._answer)

    def close(self) -> None:
        """Called by the server when the answer was sent (PEP 3333)."""
        if close := getattr(self._answer, "close", None):
            close()
        with _ended_after(DROPPED_FOR, self._connection), suppress(OSError):
            while self._connection.recv(65_536):
                pass


@contextmanager
def _the_only_body_of(subject: Hashable) -> Iterator[None]:
    with _senders_lock:
        if subject in _senders:
            raise NoThreadFreeError("Another body of this sender is on its way.")
        _senders.add(subject)
    try:
        yield
    finally:
        with _senders_lock:
            _senders.remove(subject)


@contextmanager
def _ended_after(seconds: float, connection: socket.socket | None) -> Iterator[None]:
    """Nothing more is received after this time, but an answer can still be sent.

    Reads end then, also one that waits. A timeout of the socket would begin anew with each byte.
    """
    if connection is None:  # another server than gunicorn, which has limits of its own
        yield
        return
    timer = Timer(seconds, _stop_receiving, [connection])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _stop_receiving(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RD)
    except OSError:  # the client has closed it
        return
