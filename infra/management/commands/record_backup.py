"""`manage.py record_backup`: tells the doctor when a backup ended. The timer that makes backups runs it."""

import json
import sys
from argparse import ArgumentParser
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from infra import runs
from infra.moments import moment


class Command(BaseCommand):
    help = (
        "Record when the last backup ended: pipe the output of pgbackrest info --output=json into it, or "
        "name the file that pg_dump has written."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--file", type=Path, help="a file of pg_dump; without it, JSON of pgBackRest")

    def handle(self, *args: Any, file: Path | None, **options: Any) -> None:
        ended = datetime.fromtimestamp(_written(file) if file else _stopped(sys.stdin.read()), UTC)
        runs.record(runs.BACKUP, now=ended)
        if file is None:  # a backup of pgBackRest is restored together with archived WAL
            runs.record(runs.BACKUP_WITH_WAL, now=ended)
        self.stdout.write(f"The last backup ended on {moment(ended)}.")


def _written(file: Path) -> float:
    """When the dump was written. It may be incomplete, so run this only if pg_dump ended with success."""
    if not file.is_file() or not file.stat().st_size:
        raise CommandError("There is no such file, or it is empty.")
    return file.stat().st_mtime


def _stopped(text: str) -> float:
    """When the last backup ended. pgBackRest ends with status 0 also when it has lost its repository."""
    try:
        stanzas = json.loads(text)
        usable = all(stanza["status"]["code"] == 0 for stanza in stanzas)
        ended = [
            backup["timestamp"]["stop"]
            for stanza in stanzas
            for backup in stanza["backup"]
            if not backup.get("error")
        ]
        if usable and ended:
            return float(max(ended))
    except (ValueError, LookupError, TypeError):
        pass
    raise CommandError("pgBackRest knows no usable backup: run pgbackrest check.")
