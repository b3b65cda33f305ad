"""Seal everything anew under the first of KEY_SEALING_KEYS."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from keys.resealing import BATCH, reseal
from keys.sealed_columns import SealedColumn, sealed_columns

MAX_BATCH = 10_000


class Command(BaseCommand):
    help = (
        "Move every sealed value (private keys, identities) to the first of KEY_SEALING_KEYS, in batches, "
        "while the service runs. It may be stopped and run again. First restart every instance with the list."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--batch", type=int, default=BATCH, help=f"rows at a time ({BATCH})")
        parser.add_argument("--dry-run", action="store_true", help="only say how much there is to move")

    def handle(self, *args: Any, batch: int, dry_run: bool, **options: Any) -> None:
        if not 1 <= batch <= MAX_BATCH:
            raise CommandError(f"--batch is 1 to {MAX_BATCH}.")
        columns = list(sealed_columns())
        if dry_run:
            for column in columns:
                self.stdout.write(f"{column}: {column.waiting().count()} to move.")
            return
        refused = [reason for column in columns for reason in self._reseal(column, batch)]
        left = sum(column.waiting().count() for column in columns)
        for reason in refused:
            self.stderr.write(reason)
        if left:
            raise CommandError(
                f"{left} values are not sealed under the first key. Keep the other keys in KEY_SEALING_KEYS, "
                "see that every instance has been restarted with the new list, and run this again."
            )
        self.stdout.write("Everything is sealed under the first key; the others may leave KEY_SEALING_KEYS.")

    def _reseal(self, column: SealedColumn, size: int) -> list[str]:
        """Does it, says how much it was, and gives the reasons for what was left."""
        moved, refused = 0, []
        for batch in reseal(column, size=size):
            moved += batch.moved
            refused += batch.refused
        self.stdout.write(f"{column}: {moved} moved.")
        return refused
