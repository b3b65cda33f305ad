"""Sends e-mails from the process that writes them, for the sandbox, which is one process.

Elsewhere `manage.py send_emails` sends them, so that no request waits for a mail server.
"""

import threading
import uuid
from collections.abc import Callable
from functools import partial

import structlog
from django.conf import settings
from django.db import Error, connection, transaction
from django.utils import timezone

from infra.mail import queue, sending

log = structlog.get_logger(__name__)

PAUSE = 1.0  # seconds
_lock = threading.Lock()
_thread: threading.Thread | None = None
_woken = threading.Event()


def after_commit(email: uuid.UUID, *, apart: bool) -> None:
    """If this process is to send e-mails, send this one once the transaction is committed.

    apart: it goes to a mail server that may be slow, so a thread in the background sends it.
    """
    if settings.EMAILS_SENT_AT_ONCE:
        _on_commit(_wake if apart else partial(send, email))


def _on_commit(work: Callable[[], object]) -> None:
    transaction.on_commit(work)


def send(email: uuid.UUID) -> None:
    """Send this e-mail in this thread."""
    sending.send_one(email, clock=timezone.now)


def _wake() -> None:
    global _thread
    _woken.set()
    with _lock:
        if _thread is None or not _thread.is_alive():
            _thread = threading.Thread(target=_keep_sending, name="e-mails", daemon=True)
            _thread.start()


def send_waiting() -> None:
    """Send what waits, and end what is too late."""
    for urgent in (True, False):
        sending.send_due(urgent=urgent, clock=timezone.now)
    queue.end_expired(now=timezone.now())


def _keep_sending() -> None:
    """Sends what waits, and tries again what failed, as long as this process runs."""
    while True:
        try:
            send_waiting()
        except Error:
            log.exception("emails_not_looked_at")
        finally:
            connection.close()
        _woken.wait(PAUSE)
        _woken.clear()
