"""Processes and threads that send the same outbox: each e-mail is sent once, and none is lost to a kill."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from infra.mail import outbox, queue, sending
from infra.mail.models import OutgoingEmail
from infra.mail.queue import EmailContent
from tests.processes import ROOT, environment
from tests.wallet import mail_server
from tests.wallet.conftest import together
from tests.wallet.mail_server import MailServer

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db(transaction=True)]
LONGEST = 60.0  # seconds


@pytest.fixture(autouse=True)
def _sent_by_a_process(settings: Any) -> None:
    settings.EMAILS_SENT_AT_ONCE = False


@pytest.fixture
def server(settings: Any) -> Iterator[MailServer]:
    with mail_server.running(settings) as running:
        yield running


def write(count: int, settings: Any, *, urgent: bool = False) -> None:
    for number in range(count):
        to = f"{'code' if urgent else 'notice'}{number}@example.org"
        content = EmailContent(to=to, subject="s", text="t", backend=settings.MAIL_BACKEND)
        outbox.put(content, purpose="notice", urgent=urgent)


def recipients(server: MailServer) -> list[str]:
    return [to for envelope in server.envelopes for to in envelope.rcpt_tos]


def test_eight_senders_at_once_send_each_email_once(server: MailServer, settings: Any) -> None:
    write(40, settings)
    together(lambda number: sending.send_due(urgent=False, clock=timezone.now))
    assert OutgoingEmail.objects.filter(state="sent").count() == 40
    assert len(set(recipients(server))) == len(recipients(server)) == 40


def test_eight_operators_at_once_send_a_refused_email_again_once(server: MailServer, settings: Any) -> None:
    server.refusing = "550 no"
    write(1, settings)
    sending.send_due(urgent=False, clock=timezone.now)
    email = OutgoingEmail.objects.get()
    again = together(lambda number: outbox.send_again(email.id, now=timezone.now()))
    assert sorted(again) == [False] * 7 + [True]


def test_a_claim_waits_for_no_lock(settings: Any) -> None:
    """A row that another transaction holds is passed over."""
    from django.db import transaction

    write(2, settings)
    with transaction.atomic():
        held = OutgoingEmail.objects.select_for_update().order_by("due_at")[0]
        [claimed] = together(lambda number: queue.claim(urgent=False, now=timezone.now()), 1)
    assert claimed.id != held.id


def start(settings: Any, folder: Path) -> subprocess.Popen[str]:
    surroundings = environment(settings, folder) | {"LOG_LEVEL": "WARNING"}
    surroundings["EMAIL_URL"] = "smtp://{host}:{port}".format(**settings.MAIL_SERVER)
    command = [sys.executable, "manage.py", "worker", "--jobs", "urgent_emails", "emails"]
    return subprocess.Popen(command, cwd=ROOT, env=surroundings, stderr=subprocess.PIPE, text=True)


def until(condition: Any) -> None:
    deadline = time.monotonic() + LONGEST
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.slow
def test_the_process_sends_codes_although_the_server_is_slow_with_others_and_ends_on_a_signal(
    server: MailServer, settings: Any, tmp_path: Path
) -> None:
    """A server that keeps the others waiting, as one of a slow recipient does."""
    write(3, settings)
    process = start(settings, tmp_path)
    try:
        until(lambda: len(server.envelopes) == 3)
        server.refusing = "450 later"
        write(5, settings)
        until(lambda: not OutgoingEmail.objects.filter(state="waiting", tries=0).exists())
        server.refusing = ""
        write(3, settings, urgent=True)
        until(lambda: sum(to.startswith("code") for to in recipients(server)) == 3)
        process.send_signal(signal.SIGTERM)
        assert process.wait(LONGEST) == 0
    finally:
        process.kill()
        _out, said = process.communicate()
    assert "450 for the recipient" in said
    assert "example.org" not in said


@pytest.mark.slow
def test_what_a_killed_process_was_sending_is_sent_by_the_next(
    server: MailServer, settings: Any, tmp_path: Path
) -> None:
    write(1, settings)
    reached: list[str] = []

    def kill() -> str:
        if not reached:
            reached.append("RCPT")
            os.kill(process.pid, signal.SIGKILL)
        return ""

    server.refusing = kill
    process = start(settings, tmp_path)
    process.wait(LONGEST)
    process.communicate()
    assert server.envelopes == []
    assert OutgoingEmail.objects.get().state == "waiting"
    sending.send_due(urgent=False, clock=timezone.now)
    assert server.envelopes == [], "its lease has not ended"
    OutgoingEmail.objects.update(leased_until=timezone.now())
    sending.send_due(urgent=False, clock=timezone.now)
    assert OutgoingEmail.objects.get().state == "sent"
