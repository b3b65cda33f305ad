"""Reads a passphrase for a command from a file, or from the keyboard without an echo."""

from getpass import getpass
from pathlib import Path

from keys.private_keys.backup_file import BackupError

MAX_PASSPHRASE = 1024


def passphrase_from(file: str | None, *, twice: bool) -> str:
    """The first line of the file, or what the operator types (`twice` if it is new); raises BackupError."""
    if file is not None:
        return _first_line(file)
    try:
        typed = getpass("Passphrase: ")
        again = getpass("Again: ") if twice else typed
    except EOFError:
        raise BackupError("No passphrase was typed. Without a keyboard use --passphrase-file.") from None
    if again != typed:
        raise BackupError("The two passphrases differ.")
    return typed


def _first_line(file: str) -> str:
    try:
        with Path(file).open(encoding="utf-8") as lines:
            return lines.readline(MAX_PASSPHRASE + 1).rstrip("\r\n")
    except OSError as error:
        raise BackupError(f"{file} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError:
        raise BackupError(f"{file} does not hold a passphrase.") from None
