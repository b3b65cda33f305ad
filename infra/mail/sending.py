"""Sends the e-mails of the queue, one after the other over one connection."""

import uuid
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from email.utils import format_datetime
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import structlog
from django.conf import settings
from django.core.mail import EmailMultiAlternatives, get_connection

from infra.mail import failures, queue, smtp
from infra.mail.failures import Failure
from infra.mail.models import OutgoingEmail
from infra.mail.queue import Letter
from infra.sealing import SealError

log = structlog.get_logger(__name__)

Clock = Callable[[], datetime]
MOST_OVER_ONE_CONNECTION = 50  # many servers end a connection after some hundred


class Sent(NamedTuple):
    """The numbers of e-mails that were sent and that were not. down: no e-mail can be sent at the moment."""

    sent: int = 0
    failed: int = 0
    down: bool = False


def send_due(*, urgent: bool, clock: Clock, stopped: Callable[[], bool] = lambda: False) -> Sent:
    """Send what is due, until nothing is, or the mail server takes nothing, or `stopped`."""
    sent = failed = 0
    with _Connection() as connection:
        while not stopped() and (email := queue.claim(urgent=urgent, now=clock())):
            failure = _send(email, connection, clock)
            sent, failed = sent + (failure is None), failed + (failure is not None)
            if failure and failure.down:
                return Sent(sent, failed, down=True)
    return Sent(sent, failed)


def send_one(email: uuid.UUID, *, clock: Clock) -> None:
    """Send this e-mail now, unless it is being sent or does not wait."""
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
            with smtp.deadline(self._backend):
                self._backend.open()
                self._backend.send_messages([message])
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Ends the connection; if that fails, it is forgotten all the same."""
        backend, self._backend = self._backend, None
        if backend is not None:
            with suppress(OSError), smtp.deadline(backend, seconds=2):
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
