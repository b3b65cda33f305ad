"""Sends by SMTP (RFC 5321) within a deadline over the whole conversation.

EMAIL_TIMEOUT holds for each read only: a server that sends a byte now and then would hold a sender for ever.
"""

import smtplib
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

from django.core.mail.backends import smtp

DEADLINE = 20.0  # seconds for one e-mail, connecting included

_cut = threading.local()  # `cutter`: that of the deadline of this thread


class _Cutter:
    """Shuts the connection of a thread down when its time is over."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watched: socket.socket | None = None
        self.over = False

    def watch(self, connected: socket.socket) -> None:
        """Keeps a duplicate: the socket itself is replaced by one that speaks TLS."""
        with self._lock:
            self._close()
            self._watched = socket.socket(fileno=socket.dup(connected.fileno()))
            if self.over:
                self._shut()

    def cut(self) -> None:
        """Ends the conversation; what reads or writes gets an error."""
        with self._lock:
            self.over = True
            self._shut()

    def forget(self) -> None:
        """The conversation is over: nothing is shut down any more."""
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


class EmailBackend(smtp.EmailBackend):
    """Django's SMTP backend, whose connections a `deadline` can end."""

    @property
    def connection_class(self) -> type[smtplib.SMTP]:
        return _WatchedSSL if self.use_ssl else _Watched
