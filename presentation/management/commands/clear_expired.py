"""`manage.py clear_expired`: clears every entry of `infra.retention`; run it every hour."""

from argparse import ArgumentParser
from collections import Counter
from typing import Any

import structlog
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from infra import retention, runs
from wallet.status_lists import upkeep

log = structlog.get_logger(__name__)

BATCH = 100  # so few that no row is locked for as long as a tenth of a second


class Command(BaseCommand):
    help = (
        "Delete and erase everything whose time is over (docs/operate.md lists it), in batches, and open "
        "status lists in time. What fails is named, and the rest is cleared all the same."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--batch", type=int, default=BATCH, help=f"rows per transaction ({BATCH})")

    def handle(self, *args: Any, batch: int, **options: Any) -> None:
        now = timezone.now()
        rows: Counter[str] = Counter()
        failed: list[str] = []
        with retention.planned_with_values():
            for entry in retention.entries():
                if entry.clear:
                    try:
                        rows[entry.cleared_as] += entry.clear(now=now, batch=batch)
                    except Exception:  # what is wrong with one kind of data must not keep the others
                        log.exception("not_cleared", data=entry.cleared_as)
                        failed.append(entry.cleared_as)
        upkeep.keep_open(now=now)
        cleared = ", ".join(f"{count} {name}" for name, count in rows.items() if count)
        self.stdout.write(f"Cleared {cleared or 'nothing'}.")
        if failed:
            raise CommandError(f"Not cleared: {', '.join(failed)}. The log says why.")
        runs.record("clear_expired", now=now)
