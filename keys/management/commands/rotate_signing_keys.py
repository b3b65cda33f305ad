"""`manage.py rotate_signing_keys`: takes the steps that are due. All instances may run it, every hour."""

from dataclasses import replace
from datetime import datetime
from json import dumps
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils.timezone import now

from infra import runs
from keys.certificates.watch import report
from keys.management.key_command import KeyCommand
from keys.rotation.due_steps import rotate
from keys.rotation.key_events import shell_user
from keys.rotation.plan import rehearsal, to_rotate
from keys.rotation.renewal import renew
from keys.rotation.report import Entry, RotationReport, together

FAILURES = ("step_failed", "certificate_not_obtained")


class Command(KeyCommand):
    help = (
        "Stage, activate and withdraw signing keys as scheduled, and report certificates that end within 60 "
        "days. Run it every hour."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="report as JSON; docs/keys.md documents it")
        parser.add_argument("--dry-run", action="store_true", help="only report what would be done")

    def handle(self, *args: Any, json: bool, dry_run: bool, **options: Any) -> None:
        with runs.run() if dry_run else runs.recording("rotate_signing_keys"):
            self._report(json, dry_run)

    def _report(self, json: bool, dry_run: bool) -> None:
        moment = now()
        rotation = together(
            [rehearsal(now=moment, kind=k) for k in to_rotate()] if dry_run else _rotated(moment)
        )
        ending = (Entry("certificate_ends", None, e.ends, str(e)) for e in report(now=moment))
        rotation = replace(rotation, problems=(*rotation.problems, *ending))
        for line in [dumps(rotation.facts(), indent=2, ensure_ascii=False)] if json else rotation.lines():
            self.stdout.write(line)
        if failed := [problem.text for problem in rotation.problems if problem.what in FAILURES]:
            raise CommandError(" ".join(dict.fromkeys(failed)))


def _rotated(moment: datetime) -> list[RotationReport]:
    """Rotates, and again if CERTIFICATE_COMMAND has certified a key, which may have to sign at once."""
    first = [rotate(now=moment, actor=shell_user(), kind=kind) for kind in to_rotate()]
    certified, failed = renew(now=now())
    renewed = RotationReport(moment, done=tuple(certified), problems=tuple(failed))
    if not certified:
        return [renewed, *first]
    before = [RotationReport(moment, done=report.done) for report in first]
    return [*before, renewed, *(rotate(now=now(), actor=shell_user(), kind=kind) for kind in to_rotate())]
