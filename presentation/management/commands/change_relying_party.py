"""`manage.py change_relying_party`: changes a relying party as a JSON object says, and prints it as JSON."""

import json
import sys
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser
from django.db import IntegrityError, transaction
from django.utils import timezone

from infra import strict_json
from infra.audit.commands import RecordedCommand
from presentation.models import RelyingParty
from presentation.relying_parties.as_json import listed
from presentation.relying_parties.changing import change
from presentation.relying_parties.registration import in_words

LARGEST = 1_000_000  # characters


class Command(RecordedCommand):
    help = (
        "Change a relying party. Reads a JSON object with the members to change, as list_relying_parties "
        "prints them, from standard input or a file; prints the relying party afterwards."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("client_id")
        parser.add_argument("--file", help="read it from this file instead of standard input")
        parser.add_argument("--dry-run", action="store_true", help="print the result and keep nothing")

    def handle(self, *args: Any, client_id: str, file: str | None, dry_run: bool, **options: Any) -> None:
        """Changes and prints; raises CommandError after changing nothing."""
        wanted = _object_in(_read(file))
        try:
            with transaction.atomic():
                changed = change(client_id, wanted, command="change_relying_party", now=timezone.now())
                [printed] = listed([client_id])
                transaction.set_rollback(dry_run)
        except RelyingParty.DoesNotExist:
            raise CommandError("There is no relying party with this client ID.") from None
        except ValidationError as error:
            raise CommandError(f"Nothing was changed.\n{in_words(error)}") from None
        except IntegrityError:
            raise CommandError("Nothing was changed.\nAnother relying party has this name.") from None
        verb = "Would change" if dry_run else "Changed"
        self.stderr.write(f"{verb}: {', '.join(changed) or 'nothing'}")
        self.stdout.write(json.dumps(printed, indent=2, ensure_ascii=False))


def _read(file: str | None) -> str:
    try:
        if file is None:
            return sys.stdin.read(LARGEST + 1)
        with Path(file).open(encoding="utf-8-sig") as opened:
            return opened.read(LARGEST + 1)
    except (OSError, ValueError):
        raise CommandError("Nothing was changed.\nThe JSON cannot be read.") from None


def _object_in(text: str) -> dict[str, Any]:
    if len(text) > LARGEST:
        raise CommandError(f"Nothing was changed.\nThe JSON has more than {LARGEST} characters.")
    try:
        value = strict_json.loads(text)
    except strict_json.StrictJsonError as error:
        raise CommandError(f"Nothing was changed.\nThis is not JSON: {error}") from None
    if isinstance(value, list) and len(value) == 1:  # as list_relying_parties prints one
        value = value[0]
    if not isinstance(value, dict):
        raise CommandError("Nothing was changed.\nIt must be a JSON object.")
    return value
