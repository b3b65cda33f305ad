"""Do whatever is due for the signing keys; made to be run every hour, by any number of instances."""

import json
from dataclasses import replace
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.timezone import now

from infra.sealing import SealError
from keys.certificates.chain import BrokenChainError
from keys.certificates.watch import report
from keys.rotation.due_steps import rotate
from keys.rotation.key_events import shell_user
from keys.rotation.plan import rehearsal
from keys.rotation.report import Told


class Command(BaseCommand):
    help = (
        "Stage, activate and withdraw signing keys as the schedule has it, and tell of certificates that end "
        "within 60 days. Run it every hour."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="tell it as JSON; docs/keys.md has the shape")
        parser.add_argument("--dry-run", action="store_true", help="only say what would be done")

    def handle(self, *args: Any, json: bool, dry_run: bool, **options: Any) -> None:
        moment = now()
        try:
            told = rehearsal(now=moment) if dry_run else rotate(now=moment, actor=shell_user())
        except (BrokenChainError, SealError) as error:
            raise CommandError(str(error)) from error
        ending = (Told("certificate_ends", None, e.ends, str(e)) for e in report(now=moment))
        told = replace(told, problems=(*told.problems, *ending))
        for line in [_as_json(told.facts())] if json else told.lines():
            self.stdout.write(line)


def _as_json(facts: dict[str, Any]) -> str:
    return json.dumps(facts, indent=2, ensure_ascii=False)
