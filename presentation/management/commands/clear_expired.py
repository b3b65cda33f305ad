"""`manage.py clear_expired`: clears every entry of `infra.retention`; the worker runs it every hour."""

from argparse import ArgumentParser
from collections import Counter
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from infra import jobs, retention, runs
from wallet.status_lists import upkeep

BATCH = 100  # so few that no row is locked for as long as a tenth of a second


class Command(BaseCommand):
    help = (
        "Delete and erase everything whose time is over (docs/reference.md lists it), in batches, and open "
        "status lists in time. What fails is named, and the rest is cleared all the same."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--batch", type=int, default=BATCH, help=f"rows per transaction ({BATCH})")

    @runs.recording("clear_expired")
    def handle(self, *args: Any, batch: int, **options: Any) -> None:
        now = timezone.now()
        rows: Counter[str] = Counter()
        with runs.isolated("status_lists_not_kept_open"):
            upkeep.keep_open(now=now)
        with retention.planned_with_values():
            for entry in retention.entries():
                if entry.clear:
                    jobs.next_batch()
                    with runs.isolated("not_cleared", data=entry.cleared_as):
                        rows[entry.cleared_as] += entry.clear(now=now, batch=batch)
        cleared = ", ".join(f"{count} {name}" for name, count in rows.items() if count)
        self.stdout.write(f"Cleared {cleared or 'nothing'}.")
