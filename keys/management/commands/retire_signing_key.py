"""`manage.py retire_signing_key`: ends the active key's signing in favour of the staged key."""

from typing import Any

from django.utils.timezone import now

from infra.moments import moment
from keys.management.key_command import RecordedKeyCommand
from keys.rotation.key_events import shell_user
from keys.rotation.states import State, ended_at
from keys.rotation.transitions import retire


class Command(RecordedKeyCommand):
    help = "Let the staged key take over from the active key, which stays published until its tokens expire."
    state, hint = State.ACTIVE, "activate_signing_key makes the staged key active."

    def handle(self, *args: Any, kid: str | None, signs: str, reason: str, **options: Any) -> None:
        key = retire(self.chosen(kid, signs), now=now(), actor=shell_user(), reason=reason)
        self.stdout.write(f"Key {key} is retired; it leaves the key set on {moment(ended_at(key))}.")
