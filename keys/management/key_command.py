"""What the commands for signing keys share: the key, the reason, and one sentence for every refusal."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from infra.audit.commands import RecordedCommand
from infra.files import FileError
from infra.reasons import visible
from keys.models import KINDS, Key, SigningKey
from keys.operations import REFUSALS
from keys.private_keys.backup_file import BackupError
from keys.rotation.states import State, in_state

_REFUSALS: tuple[type[Exception], ...] = (BackupError, FileError, *REFUSALS)


# Arguments of `add_argument` for the option `--for`, which says what the key signs.
FOR: dict[str, Any] = {
    "dest": "signs",
    "choices": [kind.signs for kind in KINDS],
    "default": SigningKey.signs,
}


def kind_of(signs: str) -> type[Key]:
    """The model of the keys that sign this, which is one of the choices of `--for`."""
    (kind,) = (kind for kind in KINDS if kind.signs == signs)
    return kind


class KeyCommand(BaseCommand):
    """A command for signing keys: when an operation is refused, it ends with the reason as a CommandError.

    state: of the key that is meant if its ID is left out; a command without it takes no ID by itself.
    hint: what to do if no key is in this state.
    """

    state: State | None = None
    hint = ""

    def add_arguments(self, parser: CommandParser) -> None:
        if self.state:
            which = parser.add_mutually_exclusive_group()
            which.add_argument("kid", nargs="?", help=f"the key's id; the {self.state} key when left out")
            what = f"which {self.state} key, by what it signs; credentials when left out"
            which.add_argument("--for", **FOR, help=what)

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            return super().execute(*args, **options)
        except _REFUSALS as refusal:
            raise CommandError(str(refusal)) from refusal

    def chosen(self, kid: str | None, signs: str) -> str:
        """The id that was given, or that of the key in `state` that signs this; raises CommandError."""
        key = kid or (in_state(self.state, kind_of(signs)) if self.state else None)
        if key is None:
            raise CommandError(f"No key for {signs} is {self.state}. {self.hint}")
        return str(key)


class RecordedKeyCommand(RecordedCommand, KeyCommand):
    """One that changes keys: it takes a reason, and its run is a line of the audit record."""

    needs_reason = False

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        why = "why, for the record (200 characters)"
        parser.add_argument("--reason", required=self.needs_reason, default="", help=why)

    def execute(self, *args: Any, **options: Any) -> str | None:
        if self.needs_reason and not visible(options["reason"]):
            raise CommandError("Say why, for the record.")
        return super().execute(*args, **options)
