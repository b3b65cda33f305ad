"""`manage.py clear_unanswered_consents`: forget questions that nobody answered. Answers are kept."""

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from consent.clearing import clear_unanswered


class Command(BaseCommand):
    help = "Deletes questions to holders that lapsed unanswered, in batches. Safe to run at any time."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--hours", type=int, default=24, help="how long ago they lapsed at least (24)")
        parser.add_argument("--batch", type=int, default=1000, help="rows per transaction (1000)")

    def handle(self, *args: Any, **options: Any) -> None:
        lapsed_before = timezone.now() - timedelta(hours=max(options["hours"], 0))
        cleared = clear_unanswered(lapsed_before=lapsed_before, batch=max(options["batch"], 1))
        self.stdout.write(f"{cleared} unanswered questions cleared")
