"""What the commands for signing keys share: the key, the reason, and one sentence for every refusal."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from infra.audit.commands import RecordedCommand
from infra.files import FileError
from infra.reasons import visible
from keys.operations import REFUSALS
from keys.private_keys.backup_file import BackupError
from keys.rotation.states import State, in_state

_REFUSALS: tuple[type[Exception], ...] = (BackupError, FileError, *REFUSALS)


class KeyCommand(BaseCommand):
    """A command for signing keys: when an operation is refused, it ends with the reason as a CommandError.

    state: of the key that is meant if its ID is left out; a command without it takes no ID by itself.
    hint: what to do if no key is in this state.
    """

    state: State | None = None
    hint = ""

    def add_arguments(self, parser: CommandParser) -> None:
        if self.state:
            parser.add_argument(
                "kid", nargs="?", help=f"the key's id; the {self.state.value} key when left out"
            )

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            return super().execute(*args, **options)
        except _REFUSALS as refusal:
            raise CommandError(str(refusal)) from refusal

    def chosen(self, kid: str | None) -> str:
        """The id that was given, or that of the key in `state`; raises CommandError if there is none."""
        key = kid or (in_state(self.state) if self.state else None)
        if key is None:
            raise CommandError(f"No key is {self.state}. {self.hint}")
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
