"""`manage.py sweep_identity_verifications`: takes all steps in JOBS that are due.

Identity verifications are only the first of them: it also sends e-mails, and moves and closes wallets.
"""

from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from infra import runs
from wallet.account.closing import sweeping as closing
from wallet.account.recovery import sweeping as recovery
from wallet.identity import notices
from wallet.identity.sweeping import sweep

JOBS: dict[str, Callable[..., Counter[str]]] = {
    "identity checks": sweep,
    "e-mails about identities": lambda **due: Counter({"e-mails": notices.send_due(**due).total()}),
    "moves": recovery.sweep,
    "closings": closing.sweep,
}


class Command(BaseCommand):
    help = (
        "Asks the provider about attempts that wait for a result, abandons those left idle for 24 hours, "
        "gives up on those unanswered for 24 hours and expires verifications that have run out. Providers "
        "erase what they keep of decided attempts. Sends the e-mails that say that an identity was verified, "
        "declined or revoked, or ends. Sends the e-mails about wallets that move, and moves those whose "
        "waiting time is over. Closes wallets whose holders asked for it a day ago, and erases what was kept "
        "of them. Run it every few minutes, on any number of instances."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--batch", type=int, default=500, help="rows read at a time (500)")

    @runs.recording("sweep_identity_verifications")
    def handle(self, *args: Any, **options: Any) -> None:
        now, batch = timezone.now(), max(options["batch"], 1)
        done: Counter[str] = Counter()
        for name, job in JOBS.items():
            with runs.isolated("sweep_job_failed", job=name):
                done += job(now=now, batch=batch)
        parts = [f"{count} {what}" for what, count in sorted(done.items())]
        self.stdout.write(", ".join(parts) or "nothing due")
