"""Reads a passphrase for a command from a file, or from the keyboard without an echo."""

from getpass import getpass

from infra.files import text
from keys.private_keys.backup_file import BackupError

MAX_PASSPHRASE = 1024


def passphrase_from(file: str | None, *, twice: bool) -> str:
    """The first line of the file, or what the operator types (`twice` if it is new).

    Raises BackupError, FileError.
    """
    if file is not None:
        lines = text(file).replace("\r", "\n")
        return lines.partition("\n")[0][: MAX_PASSPHRASE + 1]
    try:
        typed = getpass("Passphrase: ")
        again = getpass("Again: ") if twice else typed
    except EOFError:
        raise BackupError("No passphrase was typed. Without a keyboard use --passphrase-file.") from None
    if again != typed:
        raise BackupError("The two passphrases differ.")
    return typed
