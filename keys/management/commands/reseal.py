"""`manage.py reseal`: seals every value anew under the first of KEY_SEALING_KEYS."""

import re
from typing import Any

import structlog
from django.core.management.base import CommandError, CommandParser
from django.db import IntegrityError, transaction
from django.utils.timezone import now

from keys.management.key_command import RecordedKeyCommand
from keys.rotation.key_events import Action, record, shell_user
from keys.sealed_columns import BATCH, SealedColumn, reseal, sealed_columns

MAX_BATCH = 10_000

log = structlog.get_logger(__name__)


class Command(RecordedKeyCommand):
    help = (
        "Move every sealed value (private keys, identities) to the first of KEY_SEALING_KEYS, in batches, "
        "while the service runs. It may be stopped and run again. First restart all instances with the list."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--batch", type=int, default=BATCH, help=f"rows at a time ({BATCH})")
        parser.add_argument(
            "--dry-run", action="store_true", help="only report how many values there are to move"
        )
        parser.add_argument(
            "--forget",
            metavar="KEY-ID",
            help="empty for good the values sealed under a lost key; check --deploy names its id",
        )

    def handle(
        self, *args: Any, batch: int, dry_run: bool, forget: str | None, reason: str, **options: Any
    ) -> None:
        if not 1 <= batch <= MAX_BATCH:
            raise CommandError(f"--batch is 1 to {MAX_BATCH}.")
        columns = list(sealed_columns())
        if forget is not None:
            self._forget(columns, forget, reason)
            return
        if dry_run:
            for column in columns:
                self.stdout.write(f"{column}: {column.waiting().count()} to move.")
            return
        # Recorded first, because the run may be stopped at any point.
        if any(column.waiting().exists() for column in columns):
            record(Action.RESEALED, None, actor=shell_user(), reason=reason, now=now())
        refused = [why for column in columns for why in self._reseal(column, batch)]
        left = sum(column.waiting().count() for column in columns)
        for why in refused:
            self.stderr.write(why)
        if left:
            raise CommandError(
                f"{left} values are not sealed under the first key. Keep the other keys in KEY_SEALING_KEYS, "
                "see that every instance has been restarted with the new list, and run this again."
            )
        self.stdout.write("Everything is sealed under the first key; the others may leave KEY_SEALING_KEYS.")

    def _forget(self, columns: list[SealedColumn], key_id: str, reason: str) -> None:
        if not re.fullmatch("[0-9a-f]{8}", key_id):
            raise CommandError("The id of a key is 8 hexadecimal digits; check --deploy names it.")
        try:
            with transaction.atomic():
                count = sum(column.forget(key_id) for column in columns)
                if count:
                    record(Action.FORGOTTEN, None, actor=shell_user(), reason=reason, now=now())
        except IntegrityError:
            raise CommandError(
                "The private key of a staged or active signing key is sealed under it: withdraw that key "
                "first (withdraw_signing_key). Nothing was changed."
            ) from None
        log.warning("sealed_values_forgotten", key_id=key_id, count=count, actor=shell_user())
        self.stdout.write(f"{count} values that were sealed under {key_id} are forgotten.")

    def _reseal(self, column: SealedColumn, size: int) -> list[str]:
        """Reseals the column and reports the number of values moved; gives the reasons for the others."""
        batches = list(reseal(column, size=size))
        self.stdout.write(f"{column}: {sum(moved for moved, _ in batches)} moved.")
        return [why for _, refused in batches for why in refused]
