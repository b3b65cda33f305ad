"""`manage.py export_keys`: writes all signing keys with their private parts to an encrypted file."""

import os
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import transaction
from django.utils.timezone import now

from keys.management.key_command import RecordedKeyCommand
from keys.private_keys.backup import export, in_hardware
from keys.private_keys.backup_file import lock, require_strong
from keys.private_keys.passphrase import passphrase_from
from keys.rotation.key_events import shell_user


class Command(RecordedKeyCommand):
    help = (
        "Write all keys, private parts included, into a new encrypted file (JWE). Keep it where neither the "
        "database nor KEY_SEALING_KEYS is kept, and the passphrase somewhere else again."
    )

    needs_reason = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("file", help="the file to make; one that exists is not overwritten")
        parser.add_argument(
            "--passphrase-file", metavar="FILE", help="its first line; asked for when left out"
        )

    def handle(self, *args: Any, file: str, reason: str, passphrase_file: str | None, **options: Any) -> None:
        passphrase = passphrase_from(passphrase_file, twice=True)
        require_strong(passphrase)
        with transaction.atomic():  # so that there is no file without its key event, and no event without it
            document = export(actor=shell_user(), reason=reason, now=now())
            _write(Path(file), lock(document, passphrase))
        self.stdout.write(f"Exported to {file}. It opens with the passphrase and nothing else.")
        for key in in_hardware():
            self.stdout.write(
                f"NOT in the file: the private key of {key}. It cannot leave its hardware module; back that "
                "up as its maker says."
            )


def _write(path: Path, text: str) -> None:
    """Makes a file that only its owner can read, complete or not at all; raises CommandError."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise CommandError(f"{path} cannot be made: {error.strerror}.") from error
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        path.unlink(missing_ok=True)
        raise CommandError(f"{path} cannot be written: {error.strerror}.") from error
