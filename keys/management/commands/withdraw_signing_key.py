"""Take a key out of the key set in an emergency."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.timezone import now

from keys.key_events import shell_user
from keys.moves import State, find, in_state
from keys.rotation import RotationRefusedError, withdraw
from keys.schedule import cost_of_withdrawal


class Command(BaseCommand):
    help = (
        "Withdraw a key now and for good, for instance because it was compromised; says first what it costs."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("kid", help="the key's id")
        parser.add_argument("--reason", required=True, help="why, for the record (200 characters)")
        parser.add_argument(
            "--yes", action="store_true", help="do it; without this it only says what it costs"
        )

    def handle(self, *args: Any, kid: str, reason: str, yes: bool, **options: Any) -> None:
        moment = now()
        try:
            self.stdout.write(cost_of_withdrawal(find(kid), now=moment))
            if not yes:
                raise CommandError("Nothing was changed. Add --yes to withdraw the key.")
            key = withdraw(kid, reason=reason, now=moment, actor=shell_user())
        except RotationRefusedError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"Key {key} is withdrawn.")
        active = in_state(State.ACTIVE)
        self.stdout.write(f"Key {active} signs." if active else "No key signs now: run rotate_signing_keys.")
