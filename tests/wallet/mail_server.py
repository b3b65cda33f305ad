"""A mail server on loopback that stores e-mails or refuses them."""

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
    """Accepts e-mails, unless `refusing` is an SMTP reply or a function that returns one.

    If the function returns an empty reply, the e-mail is accepted.
    """

    def __init__(self) -> None:
        self.envelopes: list[Envelope] = []
        self.refusing: str | Callable[[], str] = ""
        self.refusing_content = ""  # an SMTP reply
        self.hanging_up_at = ""  # "DATA": accepts the e-mail but sends no reply; or "QUIT"
        self.connections = 0

    async def handle_EHLO(
        self, server: SMTP, session: Session, envelope: Envelope, hostname: str, responses: list[str]
    ) -> list[str]:
        session.host_name = hostname
        self.connections += 1
        return responses

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if refusal := self.refusing if isinstance(self.refusing, str) else self.refusing():
            return refusal
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        if self.refusing_content:
            return self.refusing_content
        self.envelopes.append(envelope)
        if self.hanging_up_at == "DATA":
            server.transport.abort()  # type: ignore[union-attr]
        return "250 OK"

    async def handle_QUIT(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        if self.hanging_up_at == "QUIT":
            server.transport.abort()  # type: ignore[union-attr]
        return "221 Bye"

    def newest(self, number: int = -1) -> EmailMessage:
        """The text of the last e-mail, or of another one."""
        content = self.envelopes[number].content
        assert isinstance(content, bytes)
        return message_from_bytes(content, policy=default)  # type: ignore[return-value]


def point_at(settings: Any, *, port: int, **more: Any) -> None:
    """Has the service send its e-mails to this port on loopback; more: other members of MAIL_SERVER."""
    settings.MAIL_BACKEND = "infra.mail.sending.EmailBackend"
    settings.MAIL_SERVER = settings.MAIL_SERVER | {"host": "127.0.0.1", "port": port} | more


@contextmanager
def running(settings: Any) -> Iterator[MailServer]:
    """A running mail server, configured as the service's."""
    mail_server, port = MailServer(), free_port()
    controller = Controller(mail_server, hostname="127.0.0.1", port=port, ready_timeout=60)
    controller.start()
    point_at(settings, port=port)
    try:
        yield mail_server
    finally:
        controller.stop()
