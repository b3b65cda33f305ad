"""Sends the e-mails of the queue, one after the other over one connection."""

import uuid
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from datetime import datetime
from email.mime.image import MIMEImage
from email.mime.multipart import MIMEMultipart
from email.utils import format_datetime
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import structlog
from django.conf import settings
from django.core.mail import EmailMessage, EmailMultiAlternatives
from django.core.mail.backends import smtp as django_smtp
from django.core.mail.backends.base import BaseEmailBackend
from django.utils.module_loading import import_string

from infra import jobs
from infra.in_time import in_time
from infra.mail import failures, queue
from infra.mail.failures import Failure
from infra.mail.models import OutgoingEmail
from infra.mail.queue import EmailContent
from infra.sealing import SealError

log = structlog.get_logger(__name__)

Clock = Callable[[], datetime]
LOGO = "cid:operator-logo"  # the address of the operator's logo in an e-mail (RFC 2392)
# Mail programs then send no notice of absence, and no other automatic answer (RFC 3834 §5).
AUTOMATIC = {"Auto-Submitted": "auto-generated"}
MOST_OVER_ONE_CONNECTION = 50  # many servers end a connection after some hundred


def send_due(*, urgent: bool, clock: Clock) -> bool:
    """Sends due e-mails until none is left or the worker has to stop; True if the mail server takes none."""
    with closing(_Connection()) as connection:
        while not jobs.must_stop() and (email := queue.claim(urgent=urgent, now=clock())):
            failure = _send(email, connection, clock)
            if failure and failure.down:
                return True
    return False


def send_one(email: uuid.UUID, *, clock: Clock) -> None:
    """Sends this e-mail now, if it waits and no other sender has claimed it."""
    if claimed := queue.claim_one(email, now=clock()):
        with closing(_Connection()) as connection:
            _send(claimed, connection, clock)


def send_at_once(message: EmailMessage, backend: BaseEmailBackend) -> None:
    """Sends the e-mail over this backend, with what all e-mails of the service carry; raises OSError."""
    message.extra_headers |= AUTOMATIC
    backend.send_messages([message])


def new_backend(name: str = "") -> BaseEmailBackend:
    """A new e-mail backend: the one with this dotted name, by default MAIL_BACKEND."""
    backend: BaseEmailBackend = import_string(name or settings.MAIL_BACKEND)()
    return backend


class _Connection:
    """A connection to the mail server that is opened when it is needed and used for several e-mails."""

    def __init__(self) -> None:
        self._backend: Any = None
        self._name, self._used = "", 0

    def send(self, message: EmailMultiAlternatives, backend: str) -> None:
        """Raises OSError unless the mail server has accepted the e-mail."""
        if self._backend is None or self._name != backend or self._used >= MOST_OVER_ONE_CONNECTION:
            self.close()
            self._backend, self._name, self._used = new_backend(backend), backend, 0
        self._used += 1
        try:
            self._backend.open()
            send_at_once(message, self._backend)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Ends the connection; if that fails, it is forgotten all the same."""
        backend, self._backend = self._backend, None
        if backend is not None:
            with suppress(OSError):
                backend.close()


def _send(email: OutgoingEmail, connection: _Connection, clock: Clock) -> Failure | None:
    """The reason if the e-mail was not sent; stores the result."""
    failure = None
    try:
        content = queue.content(email)
        connection.send(_message(email, content), content.backend)
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


def _message(email: OutgoingEmail, content: EmailContent) -> EmailMultiAlternatives:
    """The same message in each try, so that mailboxes recognise a second copy (RFC 5322 §3.6.4)."""
    host = urlsplit(settings.BASE_URL).hostname
    headers = {"Message-ID": f"<{email.id}@{host}>", "Date": format_datetime(email.created_at)}
    kind = _WithLogo if settings.OPERATOR.logo and LOGO in content.html else EmailMultiAlternatives
    message = kind(subject=content.subject, body=content.text, to=[content.to], headers=headers)
    if content.html:
        message.attach_alternative(content.html, "text/html")
    return message


class _WithLogo(EmailMultiAlternatives):
    """An e-mail that contains the operator's logo: fetching it would tell who reads the e-mail, and when."""

    def message(self, **options: Any) -> Any:
        """Places the logo beside the HTML that shows it (RFC 2387)."""
        logo = MIMEImage(settings.OPERATOR.logo, _subtype=settings.OPERATOR.logo_type.removeprefix("image/"))
        logo["Content-ID"], logo["Content-Disposition"] = "<operator-logo>", "inline"
        whole: Any = super().message(**options)
        text, html = whole.get_payload()
        whole.set_payload([text, MIMEMultipart("related", _subparts=[html, logo])])
        return whole


DEADLINE = 20.0  # seconds for connecting, and for one e-mail; MAIL_SERVER limits single answers


class EmailBackend(django_smtp.EmailBackend):
    """Django's SMTP backend for MAIL_SERVER, which no server holds up by answering a little now and then."""

    def __init__(self) -> None:
        # Django 6.1 passes each backend the name of its entry in MAILERS. Without a name, a backend completes
        # its arguments from the settings EMAIL_…, which are deprecated. Django 5.2 ignores the name.
        super().__init__(alias="default", **settings.MAIL_SERVER)

    def open(self) -> bool | None:
        return in_time(super().open, DEADLINE)

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        return in_time(partial(super().send_messages, email_messages), DEADLINE)

    def close(self) -> None:
        in_time(super().close, 2)
