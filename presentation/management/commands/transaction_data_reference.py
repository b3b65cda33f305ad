"""`manage.py transaction_data_reference > docs/transaction-data.md`: the page from the declared types."""

from typing import Any

from django.core.management.base import BaseCommand

from presentation.transaction_data.reference import documentation


class Command(BaseCommand):
    help = "Print docs/transaction-data.md, written from the declared transaction data types."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints the page."""
        self.stdout.write(documentation(), ending="")
