"""`manage.py doctor`: one line for each check, and what to do; the worker runs the same checks every hour."""

import json
import sys
from argparse import ArgumentParser
from contextlib import suppress
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import Error
from django.utils import timezone

from infra import doctor
from infra.models import Diagnosis
from infra.moments import iso

WORDS = ("ok", "SOON", "NOW")


class Command(BaseCommand):
    help = (
        "Check what a running service needs, and say what to do: a line for each check. The status is 0 if "
        "all is well, 1 if something is to be done soon, 2 if now."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="for machines")

    def handle(self, *args: Any, **options: Any) -> None:
        now = timezone.now()
        findings = doctor.examine(now=now)
        worst = max(finding.state for finding in findings)
        if options["json"]:
            names = ("check", "state", "seen", "todo")
            rows = [dict(zip(names, _cells(finding), strict=True)) for finding in findings]
            self.stdout.write(json.dumps({"at": iso(now), "state": WORDS[worst], "checks": rows}, indent=2))
        else:
            for name, state, seen, todo in map(_cells, findings):
                self.stdout.write(f"{state:<5} {name}: {seen}" + (f" To do: {todo}." if todo else ""))
        self.stdout.flush()  # before a COMMIT that may wait for a standby that is gone
        with suppress(Error, CommandError):  # as the findings or the log say
            doctor.store(findings)
        if worst:
            sys.exit(worst)


def _cells(row: Diagnosis) -> tuple[str, str, str, str]:
    return row.name, WORDS[row.state], row.seen, row.todo
