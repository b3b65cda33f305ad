"""`manage.py activate_signing_key`: makes the staged key the one that signs."""

from typing import Any

from django.core.management.base import CommandParser
from django.utils.timezone import now

from infra.audit.commands import RecordedCommand
from keys.management.key_command import KeyCommand, chosen
from keys.rotation.key_events import shell_user
from keys.rotation.moves import activate
from keys.rotation.states import State


class Command(RecordedCommand, KeyCommand):
    help = "Let the staged key sign from now on; the active key retires and stays published."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("kid", nargs="?", help="the key's id; the staged key when left out")
        parser.add_argument("--reason", default="", help="why, for the record (200 characters)")

    def handle(self, *args: Any, kid: str | None, reason: str, **options: Any) -> None:
        kid = chosen(kid, State.STAGED, "stage_signing_key makes one.")
        key = activate(kid, now=now(), actor=shell_user(), reason=reason)
        self.stdout.write(f"Key {key} is active.")
