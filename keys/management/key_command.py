"""What the commands for signing keys share: the choice of a key, and one sentence for every refusal."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from keys.operations import REFUSALS
from keys.private_keys.backup_file import BackupError
from keys.rotation.states import State, in_state

_REFUSALS: tuple[type[Exception], ...] = (BackupError, *REFUSALS)


class KeyCommand(BaseCommand):
    """A command for signing keys: when an operation is refused, it ends with the reason as a CommandError."""

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            return super().execute(*args, **options)
        except _REFUSALS as refusal:
            raise CommandError(str(refusal)) from refusal


def chosen(kid: str | None, state: State, hint: str) -> str:
    """The id that was given, or that of the key in this state; raises CommandError with the hint."""
    key = kid or in_state(state)
    if key is None:
        raise CommandError(f"No key is {state.value}. {hint}")
    return str(key)
