"""End the active key's signing in favour of the staged one."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.timezone import now

from infra.moments import moment
from keys.certificates.chain import BrokenChainError
from keys.rotation.key_events import shell_user
from keys.rotation.moves import retire
from keys.rotation.schedule import ended_at
from keys.rotation.states import RotationRefusedError, State, in_state


class Command(BaseCommand):
    help = "Let the staged key take over from the active one, which stays published until its tokens ended."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("kid", nargs="?", help="the key's id; the active key when left out")
        parser.add_argument("--reason", default="", help="why, for the record (200 characters)")

    def handle(self, *args: Any, kid: str | None, reason: str, **options: Any) -> None:
        active = in_state(State.ACTIVE)
        if kid is None and active is None:
            raise CommandError("No key is active, so none can retire.")
        try:
            key = retire(kid or str(active), now=now(), actor=shell_user(), reason=reason)
        except (RotationRefusedError, BrokenChainError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"Key {key} is retired; it leaves the key set on {moment(ended_at(key))}.")
