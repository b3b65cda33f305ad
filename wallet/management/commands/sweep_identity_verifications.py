"""`manage.py sweep_identity_verifications`: polls, abandons and expires idle identity verifications."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from wallet.identity.sweeping import sweep


class Command(BaseCommand):
    help = (
        "Asks the provider about attempts that wait for a result, abandons those left idle for 24 hours, "
        "gives up on those unanswered for 24 hours and expires verifications that have run out. Providers "
        "erase what they keep of decided attempts. Run it every few minutes, on any number of instances."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--batch", type=int, default=500, help="rows read at a time (500)")

    def handle(self, *args: Any, **options: Any) -> None:
        moved = sweep(now=timezone.now(), batch=max(options["batch"], 1))
        self.stdout.write(
            ", ".join(f"{count} {state}" for state, count in sorted(moved.items())) or "nothing due"
        )
