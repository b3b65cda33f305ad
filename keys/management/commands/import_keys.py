"""`manage.py import_keys`: restores the keys of an export into a database without keys."""

from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils.timezone import now

from infra.files import FileError, text
from infra.sealing import SealError
from keys.management.key_command import RecordedKeyCommand
from keys.models import Key
from keys.private_keys.backup import in_hardware, restore
from keys.private_keys.backup_file import MAX_FILE, BackupError, unlock
from keys.private_keys.key_stores import signer_of
from keys.private_keys.passphrase import passphrase_from
from keys.private_keys.signer import SignerUnavailableError
from keys.rotation.key_events import shell_user


class Command(RecordedKeyCommand):
    help = (
        "Restore the keys that export_keys wrote, into a database without any. The key set is then the same."
    )

    needs_reason = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("file", help="the file that export_keys made")
        parser.add_argument(
            "--passphrase-file", metavar="FILE", help="its first line; asked for when left out"
        )

    def handle(self, *args: Any, file: str, reason: str, passphrase_file: str | None, **options: Any) -> None:
        try:
            passphrase = passphrase_from(passphrase_file, twice=False)
            document = unlock(text(file, most=MAX_FILE).strip(), passphrase)
            count = restore(document, actor=shell_user(), reason=reason, now=now())
        except (BackupError, FileError, SealError) as error:
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
