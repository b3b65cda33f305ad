"""`manage.py clear_expired`: clears every entry of `infra.retention`; run it every hour."""

from argparse import ArgumentParser
from collections import Counter
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from infra import retention, runs
from wallet.status_lists import upkeep

BATCH = 100  # so few that no row is locked for as long as a tenth of a second


class Command(BaseCommand):
    help = (
        "Delete expired interactions, consents without a decision, codes, sessions and webhooks, in batches. "
        "Erase the content of old transactions, delete the status entries of expired credentials, and open "
        "status lists in time."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--batch", type=int, default=BATCH, help=f"rows per transaction ({BATCH})")

    def handle(self, *args: Any, batch: int, **options: Any) -> None:
        now = timezone.now()
        rows: Counter[str] = Counter()
        with retention.planned_with_values():
            for entry in retention.entries():
                if entry.clear:
                    rows[entry.cleared_as] += entry.clear(now=now, batch=batch)
        upkeep.keep_open(now=now)
        runs.record("clear_expired", now=now)
        cleared = ", ".join(f"{count} {name}" for name, count in rows.items() if count)
        self.stdout.write(f"Cleared {cleared or 'nothing'}.")
