"""`manage.py export_audit_record`: the audit record as JSON lines, each exactly the text that was hashed."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from infra.audit import verification


class Command(BaseCommand):
    help = (
        "Write the audit record as JSON lines. `previous` of each line is the SHA-256 of the line before it, "
        "without its line break."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--after", type=int, default=0, help="the number of the last line that you have")

    def handle(self, *args: Any, after: int, **options: Any) -> None:
        for line in verification.lines(after=after):
            self.stdout.write(line.text)
