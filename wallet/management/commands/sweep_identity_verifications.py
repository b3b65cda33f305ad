"""`manage.py sweep_identity_verifications`: polls, abandons and expires idle identity verifications."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from infra import runs
from wallet.account.address import undoing
from wallet.account.closing import sweeping as closing
from wallet.account.recovery import sweeping as recovery
from wallet.identity import notices
from wallet.identity.sweeping import sweep


class Command(BaseCommand):
    help = (
        "Asks the provider about attempts that wait for a result, abandons those left idle for 24 hours, "
        "gives up on those unanswered for 24 hours and expires verifications that have run out. Providers "
        "erase what they keep of decided attempts. Sends the e-mails that say that an identity was verified, "
        "declined or revoked, or ends. Sends the e-mails about changed addresses and wallets that move, and "
        "moves those whose waiting time is over. Closes wallets whose holders asked for it a day ago, and "
        "erases what was kept of them. Run it every few minutes, on any number of instances."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--batch", type=int, default=500, help="rows read at a time (500)")

    def handle(self, *args: Any, **options: Any) -> None:
        now, batch = timezone.now(), max(options["batch"], 1)
        done = [f"{count} {state}" for state, count in sorted(sweep(now=now, batch=batch).items())]
        sent = notices.send_due(now=now, batch=batch).total() + undoing.tell_all(now=now, batch=batch)
        done += recovery.sweep(now=now, batch=batch)
        if sent:
            done.append(f"{sent} e-mails")
        done += [f"{count} {what}" for what, count in closing.sweep(now=now, batch=batch).items()]
        runs.record("sweep_identity_verifications", now=now)
        self.stdout.write(", ".join(done) or "nothing due")
