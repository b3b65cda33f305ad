"""Let the staged key sign."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.timezone import now

from keys.certificates.chain import BrokenChainError
from keys.rotation.key_events import shell_user
from keys.rotation.moves import activate
from keys.rotation.states import RotationRefusedError, State, in_state


class Command(BaseCommand):
    help = "Let the staged key sign from now on; the active key retires and stays published."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("kid", nargs="?", help="the key's id; the staged key when left out")
        parser.add_argument("--reason", default="", help="why, for the record (200 characters)")

    def handle(self, *args: Any, kid: str | None, reason: str, **options: Any) -> None:
        staged = in_state(State.STAGED)
        if kid is None and staged is None:
            raise CommandError("No key is staged. stage_signing_key makes one.")
        try:
            key = activate(kid or str(staged), now=now(), actor=shell_user(), reason=reason)
        except (RotationRefusedError, BrokenChainError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"Key {key} is active.")
