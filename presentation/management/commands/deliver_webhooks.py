"""`manage.py deliver_webhooks`: sends the due webhooks, once or (`--every`) repeatedly."""

from argparse import ArgumentParser
from concurrent.futures import ThreadPoolExecutor
from time import sleep
from typing import Any

import structlog
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import Error, connection
from django.utils import timezone

from infra.outbound.calls import Outbound
from presentation.webhooks import delivery, revocations
from presentation.webhooks.delivery import Sent

log = structlog.get_logger(__name__)

MOST_SECONDS = 3600


class Command(BaseCommand):
    help = (
        "Send the webhooks that are due, and find presented credentials that were revoked. Any number of "
        "instances may run at once."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--every", type=float, metavar="SECONDS", help="repeat after so many seconds")
        parser.add_argument("--threads", type=int, default=4, help="addresses called at the same time (4)")

    def handle(self, *args: Any, every: float | None, threads: int, **options: Any) -> None:
        """Sends once and prints the numbers; with `--every` repeats until the process is stopped."""
        if every is not None and not 0 < every < MOST_SECONDS:
            raise CommandError(f"--every takes a number of seconds between 0 and {MOST_SECONDS}.")
        outbound = Outbound(loopback=settings.LOOPBACK_CALLS)
        if every is None:
            self.stdout.write(_in_words(_deliver(outbound, threads)))
        while every is not None:
            try:
                _deliver(outbound, threads)
            except Error:
                log.exception("webhooks_not_looked_at")
                connection.close()
            sleep(every)


def _in_words(sent: Sent) -> str:
    text = f"Delivered {sent.delivered} webhooks."
    return f"{text} {sent.failed} failed; the log in the admin says why." if sent.failed else text


def _deliver(outbound: Outbound, threads: int) -> Sent:
    """Collects revocations, then sends to several endpoints at the same time."""

    def work(_: int) -> Sent:
        try:
            return delivery.deliver_due(outbound=outbound, clock=timezone.now)
        finally:
            connection.close()

    revocations.collect(now=timezone.now())
    threads = min(threads, delivery.callable_endpoints(timezone.now()).count())
    if threads <= 1:
        return delivery.deliver_due(outbound=outbound, clock=timezone.now)
    with ThreadPoolExecutor(threads) as pool:
        turns = list(pool.map(work, range(threads)))
    return Sent(sum(turn.delivered for turn in turns), sum(turn.failed for turn in turns))
