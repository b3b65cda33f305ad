"""`manage.py import_keys`: restores the keys of an export into a database without keys."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils.timezone import now

from infra.audit.commands import RecordedCommand
from infra.reasons import visible
from infra.sealing import SealError
from keys.models import Key
from keys.private_keys.backup import in_hardware, restore
from keys.private_keys.backup_file import MAX_FILE, BackupError, unlock
from keys.private_keys.key_stores import signer_of
from keys.private_keys.passphrase import passphrase_from
from keys.private_keys.signer import SignerUnavailableError
from keys.rotation.key_events import shell_user


class Command(RecordedCommand):
    help = (
        "Restore the keys that export_keys wrote, into a database without any. The key set is then the same."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="the file that export_keys made")
        parser.add_argument("--reason", required=True, help="why, for the record (200 characters)")
        parser.add_argument(
            "--passphrase-file", metavar="FILE", help="its first line; asked for when left out"
        )

    def handle(self, *args: Any, file: str, reason: str, passphrase_file: str | None, **options: Any) -> None:
        if not visible(reason):
            raise CommandError("Say why the keys are imported.")
        try:
            document = unlock(_read(file), passphrase_from(passphrase_file, twice=False))
            count = restore(document, actor=shell_user(), reason=reason, now=now())
        except (BackupError, SealError) as error:
            raise CommandError(f"{error} Nothing was changed.") from error
        self.stdout.write(f"Imported {count} keys. Now run rotate_signing_keys.")
        for key in in_hardware():
            self.stdout.write(f"The private key of {key} was not in the file. {_found(key)}")


def _found(key: Key) -> str:
    try:
        signer_of(key)
    except SignerUnavailableError as error:
        return f"It does not sign here: {error} Make that right, or withdraw the key and stage another."
    return "The hardware module holds it: it signs again."


def _read(name: str) -> str:
    try:
        with Path(name).open(encoding="ascii") as file:
            text = file.read(MAX_FILE + 1)
    except OSError as error:
        raise BackupError(f"{name} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError:
        raise BackupError(f"{name} is not a backup of keys.") from None
    if len(text) > MAX_FILE:
        raise BackupError(f"{name} is too long for a backup of keys.")
    return text.strip()
