"""`manage.py activate_signing_key`: makes the staged key the one that signs."""

from typing import Any

from django.utils.timezone import now

from keys.management.key_command import RecordedKeyCommand
from keys.rotation.key_events import shell_user
from keys.rotation.states import State
from keys.rotation.transitions import activate


class Command(RecordedKeyCommand):
    help = "Let the staged key sign from now on; the active key retires and stays published."
    state, hint = State.STAGED, "stage_signing_key makes one."

    def handle(self, *args: Any, kid: str | None, signs: str, reason: str, **options: Any) -> None:
        key = activate(self.chosen(kid, signs), now=now(), actor=shell_user(), reason=reason)
        self.stdout.write(f"Key {key} is active.")
