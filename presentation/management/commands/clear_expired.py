"""`manage.py clear_expired`: clears every entry of `infra.retention`; run it every hour."""

from argparse import ArgumentParser
from collections import Counter
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from infra import retention
from wallet.status_lists import upkeep

SIGN_INS = ("sessions", "sign-ins", "links", "browsers", "allowances")


class Command(BaseCommand):
    help = (
        "Delete expired interactions, consents without a decision, codes, sessions and webhooks, in batches. "
        "Erase the content of old transactions, delete the status entries of expired credentials, and open "
        "status lists in time."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--batch", type=int, default=1000, help="rows per transaction")

    def handle(self, *args: Any, batch: int, **options: Any) -> None:
        now = timezone.now()
        rows: Counter[str] = Counter()
        for entry in retention.entries():
            if entry.clear:
                rows[entry.cleared_as] += entry.clear(now=now, batch=batch)
        upkeep.keep_open(now=now)
        self.stdout.write(
            f"Deleted {rows['interactions']} interactions, {rows['questions']} questions, "
            f"{sum(rows[name] for name in SIGN_INS)} rows of sign-ins. "
            f"Erased the transactions of {rows['transactions']} consents. "
            f"Forgot {rows['presented credentials']} presented credentials, "
            f"retired {rows['status lists']} status lists."
        )
