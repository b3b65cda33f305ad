"""Sends the e-mails of the queue, one after the other over one connection."""

import smtplib
import socket
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from email.utils import format_datetime
from typing import Any
from urllib.parse import urlsplit

import structlog
from django.conf import settings
from django.core.mail import EmailMultiAlternatives, get_connection
from django.core.mail.backends import smtp as django_smtp

from infra import jobs
from infra.mail import failures, queue
from infra.mail.failures import Failure
from infra.mail.models import OutgoingEmail
from infra.mail.queue import Letter
from infra.sealing import SealError

log = structlog.get_logger(__name__)

Clock = Callable[[], datetime]
MOST_OVER_ONE_CONNECTION = 50  # many servers end a connection after some hundred


def send_due(*, urgent: bool, clock: Clock) -> bool:
    """Sends due e-mails until none is left or the worker has to stop; True if the mail server takes none."""
    with _Connection() as connection:
        while not jobs.must_stop() and (email := queue.claim(urgent=urgent, now=clock())):
            failure = _send(email, connection, clock)
            if failure and failure.down:
                return True
    return False


def send_one(email: uuid.UUID, *, clock: Clock) -> None:
    """Sends this e-mail now, if it waits and no other sender has claimed it."""
    if claimed := queue.claim_one(email, now=clock()):
        with _Connection() as connection:
            _send(claimed, connection, clock)


class _Connection:
    """A connection to the mail server that is opened when it is needed and used for several e-mails."""

    def __init__(self) -> None:
        self._backend: Any = None
        self._name, self._used = "", 0

    def __enter__(self) -> "_Connection":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def send(self, message: EmailMultiAlternatives, backend: str) -> None:
        """Raises OSError unless the mail server has accepted the e-mail."""
        if self._backend is None or self._name != backend or self._used >= MOST_OVER_ONE_CONNECTION:
            self.close()
            self._backend, self._name, self._used = get_connection(backend or None), backend, 0
        self._used += 1
        try:
            with deadline(self._backend):
                self._backend.open()
                self._backend.send_messages([message])
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Ends the connection; if that fails, it is forgotten all the same."""
        backend, self._backend = self._backend, None
        if backend is not None:
            with suppress(OSError), deadline(backend, seconds=2):
                backend.close()


def _send(email: OutgoingEmail, connection: _Connection, clock: Clock) -> Failure | None:
    """The reason if the e-mail was not sent; stores the result."""
    failure = None
    try:
        letter = queue.content(email)
        connection.send(_message(email, letter), letter.backend)
    except OSError as error:  # SMTP and network errors are all OSErrors
        failure = failures.read(error)
    except SealError:
        failure = Failure("the content cannot be opened")
    except Exception as error:  # one e-mail must not stop the others
        failure = Failure(f"{type(error).__name__} in the service"[:60])
    queue.note(email, failure, now=clock())
    facts = {"email": str(email.id), "purpose": email.purpose}
    if failure is None:
        log.info("email_sent", **facts)
    else:
        log.warning("email_not_sent", **facts, reason=failure.reason, final=failure.final)
    return failure


def _message(email: OutgoingEmail, letter: Letter) -> EmailMultiAlternatives:
    """The same message in each try, so that mailboxes recognise a second copy (RFC 5322 §3.6.4)."""
    host = urlsplit(settings.BASE_URL).hostname
    headers = {"Message-ID": f"<{email.id}@{host}>", "Date": format_datetime(email.created_at)}
    message = EmailMultiAlternatives(
        subject=letter.subject, body=letter.text, to=[letter.to], headers=headers
    )
    if letter.html:
        message.attach_alternative(letter.html, "text/html")
    return message


DEADLINE = 20.0  # seconds for one e-mail, connecting included

_cut = threading.local()  # `cutter`: that of the deadline of this thread


class _Cutter:
    """Shuts the connection of a thread down when its time is over."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watched: socket.socket | None = None
        self.over = False

    def watch(self, connected: socket.socket) -> None:
        """Keeps a duplicate of the socket, because starting TLS replaces the socket object."""
        with self._lock:
            self._close()
            self._watched = socket.socket(fileno=socket.dup(connected.fileno()))
            if self.over:
                self._shut()

    def cut(self) -> None:
        """Shuts the connection down, so that a pending read or write fails."""
        with self._lock:
            self.over = True
            self._shut()

    def forget(self) -> None:
        """Stops watching, because the connection is no longer in use."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._watched is not None:
            self._watched.close()
            self._watched = None

    def _shut(self) -> None:
        if self._watched is not None:
            with suppress(OSError):
                self._watched.shutdown(socket.SHUT_RDWR)


@contextmanager
def deadline(backend: Any, seconds: float | None = None) -> Iterator[None]:
    """Within the block, a connection of this thread is shut down after so many seconds.

    backend: the one that sends, whose connection may be open already. An OSError in the block after that
    time becomes a TimeoutError.
    """
    cutter = _cut.cutter = _Cutter()
    opened = getattr(getattr(backend, "connection", None), "sock", None)
    if opened is not None:
        cutter.watch(opened)
    timer = threading.Timer(DEADLINE if seconds is None else seconds, cutter.cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    except OSError as error:
        if cutter.over:
            raise TimeoutError("the mail server took too long") from error
        raise
    finally:
        timer.cancel()
        _cut.cutter = None
        cutter.forget()


class _Watched(smtplib.SMTP):
    def _get_socket(self, host: Any, port: Any, timeout: Any) -> Any:
        made = super()._get_socket(host, port, timeout)  # type: ignore[misc]
        if cutter := getattr(_cut, "cutter", None):
            try:
                cutter.watch(made)
            except OSError:
                with closing(made):
                    raise
        return made


class _WatchedSSL(smtplib.SMTP_SSL, _Watched):
    """`SMTP_SSL` makes its socket by the method above, before the TLS handshake."""


class EmailBackend(django_smtp.EmailBackend):
    """Django's SMTP backend, whose connections a `deadline` can end."""

    @property
    def connection_class(self) -> type[smtplib.SMTP]:
        return _WatchedSSL if self.use_ssl else _Watched
