"""`manage.py clear_expired_sign_ins`: forget sessions, errands, codes and counts that have run out."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from wallet.clearing import clear_expired


class Command(BaseCommand):
    help = "Deletes expired holder sessions, errands, codes and counts, in batches. Safe to run at any time."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--batch", type=int, default=1000, help="rows per transaction (1000)")

    def handle(self, *args: Any, **options: Any) -> None:
        cleared = clear_expired(now=timezone.now(), batch=max(options["batch"], 1))
        self.stdout.write(f"{cleared} expired rows cleared")
