"""Sends e-mails of tests at once, through the real queue, also within a test's own transaction.

A sandbox sends an e-mail when the transaction is committed. A test that runs in a transaction never commits
one, so this takes the end of the outermost block of the code under test for it.
"""

from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection, transaction

from infra.mail import outbox

Sending = Callable[[], object]


def _only_of_the_test() -> bool:
    return all(getattr(block, "_from_testcase", False) for block in connection.atomic_blocks)


def send_waiting() -> None:
    """Sends what waits, and ends what is too late, as the worker does."""
    call_command("worker", "--once", "--jobs", "urgent_emails", "emails", "late_emails")


def _on_commit(send: Sending) -> None:
    if connection.atomic_blocks and getattr(connection.atomic_blocks[0], "_from_testcase", False):
        connection.run_on_commit.append((set(connection.savepoint_ids), _Due(send), False))
        _send_due()
    else:
        transaction.on_commit(send)


class _Due:
    def __init__(self, send: Sending) -> None:
        self.send = send

    def __call__(self) -> None:
        self.send()


def _send_due() -> None:
    if not _only_of_the_test():
        return
    due = [entry for entry in connection.run_on_commit if isinstance(entry[1], _Due)]
    connection.run_on_commit = [entry for entry in connection.run_on_commit if entry not in due]
    for _savepoints, send, _robust in due:
        send()


@pytest.fixture(scope="session", autouse=True)
def _emails_in_memory() -> None:
    """E-mails of tests go into `django.core.mail.outbox`, which pytest-django empties before each."""
    settings.MAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"


@pytest.fixture(autouse=True)
def _emails_sent_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    leave = transaction.Atomic.__exit__

    def left(block: Any, kind: Any, error: Any, trace: Any) -> None:
        leave(block, kind, error, trace)
        if connection.run_on_commit and connection.atomic_blocks:
            _send_due()

    monkeypatch.setattr(transaction.Atomic, "__exit__", left)
    monkeypatch.setattr(outbox, "_on_commit", _on_commit)
    monkeypatch.setattr(outbox, "sends_at_once", lambda *, apart: settings.EMAILS_SENT_AT_ONCE)
