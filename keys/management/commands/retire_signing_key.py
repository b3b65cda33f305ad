"""`manage.py retire_signing_key`: ends the active key's signing in favour of the staged key."""

from typing import Any

from django.core.management.base import CommandParser
from django.utils.timezone import now

from infra.audit.commands import RecordedCommand
from infra.moments import moment
from keys.management.key_command import KeyCommand, chosen
from keys.rotation.key_events import shell_user
from keys.rotation.moves import retire
from keys.rotation.states import State, ended_at


class Command(RecordedCommand, KeyCommand):
    help = "Let the staged key take over from the active key, which stays published until its tokens expire."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("kid", nargs="?", help="the key's id; the active key when left out")
        parser.add_argument("--reason", default="", help="why, for the record (200 characters)")

    def handle(self, *args: Any, kid: str | None, reason: str, **options: Any) -> None:
        kid = chosen(kid, State.ACTIVE, "activate_signing_key makes the staged key active.")
        key = retire(kid, now=now(), actor=shell_user(), reason=reason)
        self.stdout.write(f"Key {key} is retired; it leaves the key set on {moment(ended_at(key))}.")
