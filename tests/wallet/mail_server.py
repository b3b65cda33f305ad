"""A mail server on loopback that keeps what it was sent, or refuses it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session

from tests.ports import free_port


class MailServer:
    """Accepts every e-mail until `refusing` holds the answer to give instead, or a function that gives it.

    The function may also let the e-mail pass, by an empty answer.
    """

    def __init__(self) -> None:
        self.envelopes: list[Envelope] = []
        self.refusing: str | Callable[[], str] = ""
        self.hanging_up_at = ""  # "DATA": it takes an e-mail, but does not say so; or "QUIT"

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if refusal := self.refusing if isinstance(self.refusing, str) else self.refusing():
            return refusal
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        self.envelopes.append(envelope)
        if self.hanging_up_at == "DATA":
            server.transport.abort()  # type: ignore[union-attr]
        return "250 OK"

    async def handle_QUIT(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        if self.hanging_up_at == "QUIT":
            server.transport.abort()  # type: ignore[union-attr]
        return "221 Bye"

    def newest(self, number: int = -1) -> EmailMessage:
        """The e-mail that came last, or another one, as its recipient reads it."""
        content = self.envelopes[number].content
        assert isinstance(content, bytes)
        return message_from_bytes(content, policy=default)  # type: ignore[return-value]


@contextmanager
def running(settings: Any) -> Iterator[MailServer]:
    """A mail server that the service is configured to use."""
    mail_server, port = MailServer(), free_port()
    controller = Controller(mail_server, hostname="127.0.0.1", port=port)
    controller.start()
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", port
    try:
        yield mail_server
    finally:
        controller.stop()
