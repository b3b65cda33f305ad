"""Sends e-mails of the outbox to real mail servers: to one that refuses, is silent, or is slow."""

import re
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import structlog
from django.conf import settings
from django.core.management import CommandError, call_command
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from infra.in_time import in_time
from infra.mail import failures, outbox, queue, sending
from infra.mail.models import OutgoingEmail
from infra.mail.queue import EmailContent
from tests.emails import send_waiting
from tests.failing_rows import refusing
from tests.ports import free_port
from tests.wallet import mail_server
from tests.wallet.mail_server import MailServer

pytestmark = pytest.mark.django_db
NORA = "nora@example.org"
State = OutgoingEmail.State


@pytest.fixture(autouse=True)
def _sent_by_a_process(settings: Any) -> None:
    settings.EMAILS_SENT_AT_ONCE = False


@pytest.fixture
def server(settings: Any) -> Iterator[MailServer]:
    with mail_server.running(settings) as running:
        yield running


def write(to: str = NORA, *, urgent: bool = False, **facts: Any) -> OutgoingEmail:
    content = EmailContent(to=to, subject="Grüße", text="The code is 135790.", html="<p>135790</p>", **facts)
    return OutgoingEmail.objects.get(id=outbox.put(content, purpose="notice", urgent=urgent))


class Sent(NamedTuple):
    """The numbers of e-mails that were sent and that were not, and whether the mail server takes none."""

    sent: int
    failed: int
    down: bool = False


def send(*, urgent: bool = False, **ahead: Any) -> Sent:
    def counts() -> tuple[int, int]:
        tried = sum(OutgoingEmail.objects.values_list("tries", flat=True))
        return OutgoingEmail.objects.filter(state=State.SENT).count(), tried

    sent, tried = counts()
    down = sending.send_due(urgent=urgent, clock=lambda: timezone.now() + timedelta(**ahead))
    sent_now, tried_now = counts()
    return Sent(sent_now - sent, tried_now - tried - (sent_now - sent), down)


def state(email: OutgoingEmail) -> tuple[str, str]:
    email.refresh_from_db()
    return email.state, email.reason


def test_an_email_arrives_with_text_and_html_and_is_then_erased(server: MailServer) -> None:
    email = write()
    assert send() == Sent(1, 0)

    arrived = server.newest()
    assert (arrived["To"], arrived["Subject"]) == (NORA, "Grüße")
    assert arrived["Message-ID"] == f"<{email.id}@localhost>"
    assert arrived.get_all("Auto-Submitted") == ["auto-generated"]
    for form in ("plain", "html"):
        body = arrived.get_body((form,))
        assert body is not None
        assert "135790" in body.get_content()
    assert state(email) == (State.SENT, "")
    assert bytes(email.sealed_letter) == b""
    assert send() == Sent(0, 0)


def test_many_emails_go_over_one_connection(server: MailServer) -> None:
    for number in range(5):
        write(f"n{number}@example.org")
    assert send() == Sent(5, 0)
    assert [envelope.rcpt_tos for envelope in server.envelopes] == [[f"n{n}@example.org"] for n in range(5)]
    assert server.connections == 1


@pytest.mark.parametrize(
    ("reply", "result"),
    [
        ("550 5.1.1 <nora@example.org>: no such user", (State.REFUSED, "550 for the recipient")),
        ("450 4.2.0 <nora@example.org>: greylisted", (State.WAITING, "450 for the recipient")),
    ],
)
def test_a_refused_recipient_is_final_with_5xx_only_and_never_named(
    server: MailServer, reply: str, result: tuple[str, str]
) -> None:
    server.refusing = reply
    email, other = write(), write("other@example.org")
    with structlog.testing.capture_logs() as logged:
        assert send() == Sent(0, 2), "one refusal does not hold up the next e-mail"

    assert state(email) == result
    assert state(other) == result
    assert "nora" not in str(logged)
    server.refusing = ""
    assert send(seconds=6).sent == (2 if result[0] == State.WAITING else 0)


def test_refused_content_is_final_with_5xx(server: MailServer) -> None:
    server.refusing_content = "554 5.7.1 spam"
    email = write()
    send()
    assert state(email) == (State.REFUSED, "554 for the content")


def test_after_a_broken_connection_the_same_message_is_sent_again(server: MailServer) -> None:
    server.hanging_up_at = "DATA"
    email = write()
    assert send() == Sent(0, 1, down=True)
    assert state(email) == (State.WAITING, "no connection to the mail server")
    server.hanging_up_at = ""
    assert send(seconds=6) == Sent(1, 0)

    first, second = (server.newest(number) for number in (0, 1))
    for header in ("Message-ID", "Date", "To", "Subject"):
        assert first[header] == second[header]


def test_a_server_that_ends_the_connection_at_the_end_changes_nothing(server: MailServer) -> None:
    server.hanging_up_at = "QUIT"
    email = write()
    assert send() == Sent(1, 0)
    assert state(email)[0] == State.SENT


def test_while_no_server_can_be_reached_one_email_is_tried_and_all_wait(settings: Any) -> None:
    mail_server.point_at(settings, port=free_port())
    first, second = write(), write("other@example.org")

    assert send() == Sent(0, 1, down=True)
    assert state(first) == (State.WAITING, "no connection to the mail server")
    assert state(second) == (State.WAITING, "")


def test_an_email_whose_sealing_key_is_missing_does_not_stop_the_others(
    server: MailServer, settings: Any
) -> None:
    lost = write()
    settings.KEY_SEALING_KEYS = ["another-key-of-thirty-two-characters"]
    write("other@example.org")

    assert send() == Sent(1, 1)
    assert state(lost) == (State.WAITING, "the content cannot be opened")


def test_an_error_in_the_service_does_not_stop_the_others(server: MailServer) -> None:
    broken = write(backend="no.such.Backend")
    write("other@example.org")

    with structlog.testing.capture_logs() as logged:
        assert send() == Sent(1, 1)
    assert state(broken) == (State.WAITING, "ModuleNotFoundError in the service")
    assert "nora" not in str(logged)


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_an_urgent_email_whose_row_fails_does_not_stop_those_that_can_wait(server: MailServer) -> None:
    damaged = write(urgent=True)
    write("other@example.org")

    with refusing(damaged), pytest.raises(CommandError, match=r"emails_not_looked_at \(1\)"):
        send_waiting()
    assert [envelope.rcpt_tos for envelope in server.envelopes] == [["other@example.org"]]


# --- The operators' test e-mail -----------------------------------------------------------------------------


def test_the_test_email_of_operators_is_sent_at_once(server: MailServer) -> None:
    call_command("sendtestemail", "one@example.org", "two@example.org")

    [envelope] = server.envelopes
    assert envelope.rcpt_tos == ["one@example.org", "two@example.org"]
    assert server.newest()["Subject"].startswith("Test e-mail from ")
    assert server.newest().get_all("Auto-Submitted") == ["auto-generated"]


def test_the_operators_read_why_their_test_email_was_not_sent(server: MailServer) -> None:
    server.refusing = "550 5.1.1 no such user"

    with pytest.raises(CommandError, match=r"550 for the recipient \(.*5\.1\.1 no such user"):
        call_command("sendtestemail", "nobody@example.org")


# --- Silent and slow servers --------------------------------------------------------------------------------


@contextmanager
def far_end(answer: Callable[[socket.socket], object], settings: Any, **more: Any) -> Iterator[None]:
    """A mail server whose connections `answer` gets, each in a thread. more: of MAIL_SERVER."""
    taken: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def converse(connection: socket.socket) -> None:
            with suppress(OSError):
                answer(connection)

        def serve() -> None:
            with suppress(OSError):
                while True:
                    taken.append(listener.accept()[0])
                    threading.Thread(target=converse, args=(taken[-1],), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        mail_server.point_at(settings, port=listener.getsockname()[1], **more)
        try:
            yield
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            for connection in taken:
                connection.close()


def dripping(connection: socket.socket) -> None:
    """A greeting that never ends: each line comes before the timeout of a read."""
    while True:
        connection.sendall(b"220-please wait\r\n")
        threading.Event().wait(0.02)


def dripping_later(connection: socket.socket) -> None:
    """Greets properly, and drips after that."""
    connection.sendall(b"220 hello\r\n")
    connection.recv(100)
    while True:
        connection.sendall(b"250-and another line\r\n")
        threading.Event().wait(0.02)


def silent(connection: socket.socket) -> None:
    """Says nothing at all."""


@pytest.mark.parametrize(
    ("answer", "over_tls"), [(dripping, False), (dripping_later, False), (silent, False), (silent, True)]
)
def test_no_server_holds_a_sender_beyond_the_deadline_however_often_it_says_something(
    answer: Callable[[socket.socket], object], over_tls: bool, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "DEADLINE", 0.3)
    with far_end(answer, settings, use_ssl=over_tls):
        email = write()
        assert send() == Sent(0, 1, down=True)
    assert state(email) == (State.WAITING, "the mail server does not answer")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key and a self-signed certificate for localhost in one file."""
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
    ]
    command += ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", str(path)]
    made = subprocess.run([*command, "-out", "-"], check=True, capture_output=True)
    path.write_bytes(path.read_bytes() + made.stdout)
    return path


@pytest.mark.parametrize("over_tls", ["ssl", "tls"])
def test_a_server_that_is_slow_within_tls_is_given_up_as_well(
    over_tls: str, certificate: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TLS, too, is part of what has to be done in time."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    monkeypatch.setattr(sending, "DEADLINE", 3.0)  # in which a busy machine, too, gets as far as TLS
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    within_tls = threading.Event()

    def answer(connection: socket.socket) -> None:
        if over_tls == "tls":
            connection.sendall(b"220 hello\r\n")
            connection.recv(100)
            connection.sendall(b"250-hello\r\n250 STARTTLS\r\n")
            connection.recv(100)
            connection.sendall(b"220 go on\r\n")
        with context.wrap_socket(connection, server_side=True) as wrapped:
            within_tls.set()
            dripping(wrapped)

    encryption = {"use_ssl": over_tls == "ssl", "use_tls": over_tls == "tls"}
    with far_end(answer, settings, host="localhost", **encryption):
        email = write()
        assert send() == Sent(0, 1, down=True)
    assert within_tls.is_set()
    assert state(email) == (State.WAITING, "the mail server does not answer")


def test_an_error_in_time_stays_what_it_is() -> None:
    def refuse() -> None:
        raise ConnectionRefusedError

    with pytest.raises(ConnectionRefusedError):
        in_time(refuse, 5)


@given(code=st.integers(200, 599), text=st.binary(max_size=50))
def test_whatever_a_server_replies_the_reason_is_short_and_without_its_text(code: int, text: bytes) -> None:
    import smtplib

    secret = b"nora@example.org " + text
    errors = [
        smtplib.SMTPRecipientsRefused({NORA: (code, secret)}),
        smtplib.SMTPDataError(code, secret),
        smtplib.SMTPSenderRefused(code, secret, NORA),
        smtplib.SMTPAuthenticationError(code, secret),
        smtplib.SMTPConnectError(code, secret),
        smtplib.SMTPServerDisconnected(secret.decode("latin-1")),
        OSError(secret.decode("latin-1")),
    ]
    for error in errors:
        read = failures.read(error)
        assert "nora" not in read.reason
        assert 0 < len(read.reason) <= 60
        assert not read.final or code >= 500


# --- The sandbox --------------------------------------------------------------------------------------------


def test_a_sandbox_sends_at_once_and_tries_again_what_failed(server: MailServer, settings: Any) -> None:
    settings.EMAILS_SENT_AT_ONCE = True
    server.refusing = "450 later"
    email = write()
    assert state(email) == (State.WAITING, "450 for the recipient")
    server.refusing = ""
    OutgoingEmail.objects.update(due_at=timezone.now())
    send_waiting()
    assert state(email)[0] == State.SENT
    assert len(server.envelopes) == 1


def test_what_is_being_sent_is_not_sent_at_once_as_well(server: MailServer) -> None:
    email = write()
    assert queue.claim(urgent=False, now=timezone.now()) is not None
    sending.send_one(email.id, clock=timezone.now)
    assert server.envelopes == []


def test_nothing_else_sends_emails() -> None:
    """`send_at_once` sets the headers that all e-mails carry; the backends are what it calls."""
    places = ("config", "operators", "sandbox", "presentation", "consent", "wallet", "keys", "infra")
    sends = re.compile(r"\.send_messages\(|send_mail\(|send_mass_mail\(|mail_admins\(|mail_managers\(")
    found = {
        str(path.relative_to(settings.BASE_DIR)): len(sends.findall(path.read_text()))
        for place in places
        for path in Path(settings.BASE_DIR, place).rglob("*.py")
    }
    # Here and in the backend of MAIL_SERVER, which passes the call on with a time limit.
    assert {path: count for path, count in found.items() if count} == {"infra/mail/sending.py": 1}
