"""`manage.py clear_expired`: delete whatever has had its time, on every floor; to be run every hour."""

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.utils import timezone

import consent.clearing
import presentation.webhooks.clearing
import wallet.clearing
from presentation.clearing import (
    clear_interactions,
    clear_pushed_requests,
    clear_used_assertions,
    clearing,
    note_never_answered,
)
from presentation.requests.delivery import deliveries
from wallet.status_lists import sweeping, upkeep


class Command(BaseCommand):
    help = (
        "Delete expired interactions, unanswered questions, errands, codes, sessions and webhooks, in "
        "batches; erase what old transactions said, forget presented credentials that have ended, and keep "
        "status lists open."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--batch", type=int, default=1000, help="rows per transaction")

    def handle(self, *args: Any, batch: int, **options: Any) -> None:
        now = timezone.now()
        deliveries.forget_expired(now=now, batch=batch)
        note_never_answered(now=now, batch=batch)
        interactions = clear_interactions(now=now, batch=batch)
        clear_used_assertions(now=now, batch=batch)
        clearing.send(sender=None, now=now, batch=batch)
        clear_pushed_requests(now=now, batch=batch)
        presentation.webhooks.clearing.clear_webhooks(now=now, batch=batch)
        # A question waits for its interaction, so this comes second.
        questions = consent.clearing.clear_unanswered(lapsed_before=now - timedelta(days=1), batch=batch)
        old = consent.clearing.years_before(now, settings.TRANSACTION_RETENTION_YEARS)
        erased = consent.clearing.erase_transactions(asked_before=old, now=now, batch=batch)
        visits = wallet.clearing.clear_expired(now=now, batch=batch)
        swept = sweeping.sweep(now=now, batch=batch)
        upkeep.keep_open(now=now)
        call_command("clearsessions")
        self.stdout.write(
            f"Deleted {interactions} interactions, {questions} questions, {visits} rows of sign-ins. "
            f"Erased the transactions of {erased} consents. "
            f"Forgot {swept.forgotten} presented credentials, retired {swept.retired} status lists."
        )
