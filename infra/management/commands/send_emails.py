"""`manage.py send_emails`: sends the e-mails of the outbox, once or (`--every`) repeatedly."""

import signal
from argparse import ArgumentParser
from collections.abc import Callable
from functools import partial
from threading import Event, Thread
from typing import Any

import structlog
from django.core.management.base import BaseCommand, CommandError
from django.db import Error, connection
from django.utils import timezone

from infra.mail import queue, sending
from infra.mail.sending import Sent

log = structlog.get_logger(__name__)

MOST_SECONDS, MOST_THREADS = 60, 20
PAUSE_WHEN_DOWN = 3.0  # seconds, in which a mail server that takes nothing is left alone


class Command(BaseCommand):
    help = "Send the e-mails that wait in the outbox. Any number of instances may run at once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--every", type=float, metavar="SECONDS", help="repeat after so many seconds")
        parser.add_argument(
            "--threads", type=int, default=2, help="connections to the mail server for sign-in codes (2)"
        )

    def handle(self, *args: Any, every: float | None, threads: int, **options: Any) -> None:
        """Sends once and prints the numbers; with `--every` repeats until the process is stopped.

        Codes and links, for which people wait, have threads and connections of their own.
        """
        if every is not None and not 0 < every <= MOST_SECONDS:
            raise CommandError(f"--every takes a number of seconds, {MOST_SECONDS} at most.")
        if not 1 <= threads <= MOST_THREADS:
            raise CommandError(f"--threads takes a number from 1 to {MOST_THREADS}.")
        if every is None:
            queue.end_expired(now=timezone.now())
            turns = [sending.send_due(urgent=urgent, clock=timezone.now) for urgent in (True, False)]
            self.stdout.write(_in_words(turns))
            return
        stopped = Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopped.set())
        repeat(stopped, every=every, urgent_threads=threads)


def repeat(stopped: Event, *, every: float, urgent_threads: int) -> None:
    """Sends what is due until `stopped` is set; then each thread finishes its e-mail, and it returns."""
    work: list[Callable[[Event], bool]] = [partial(_send, urgent=True)] * urgent_threads
    work += [partial(_send, urgent=False), _end_expired]
    threads = [Thread(target=_keep_on, args=(each, stopped, every), daemon=True) for each in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive():
            thread.join(0.2)  # a signal is handled between two waits only


def _keep_on(work: Callable[[Event], bool], stopped: Event, every: float) -> None:
    while not stopped.is_set():
        pause = every
        try:
            if work(stopped):
                pause = max(every, PAUSE_WHEN_DOWN)
        except Error:
            log.exception("emails_not_looked_at")
            connection.close()
        stopped.wait(pause)
    connection.close()


def _send(stopped: Event, *, urgent: bool) -> bool:
    return sending.send_due(urgent=urgent, clock=timezone.now, stopped=stopped.is_set).down


def _end_expired(stopped: Event) -> bool:
    queue.end_expired(now=timezone.now())
    return True  # every three seconds suffice


def _in_words(turns: list[Sent]) -> str:
    failed = sum(turn.failed for turn in turns)
    text = f"Sent {sum(turn.sent for turn in turns)} e-mails."
    return f"{text} {failed} failed; the list of e-mails in the admin says why." if failed else text
