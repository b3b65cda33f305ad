"""Files with keys and secrets, as operators, systemd, Docker and Kubernetes provide them to a service."""

import os
import pwd
from pathlib import Path

LONGEST = 65_536  # bytes of a file with secrets


class FileError(Exception):
    """A file cannot be used; the text is one sentence and contains nothing of its content."""


def content(path: str | Path, *, most: int) -> bytes:
    """The content of a file; raises FileError if it has more than so many bytes."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        raise FileError(f"{path} cannot be read: {why_not(error, path)}.") from None
    if len(data) > most:
        raise FileError(f"{path} has more than {most} bytes.")
    return data


def text(path: str, *, most: int = LONGEST) -> str:
    """The content of a text file; raises FileError."""
    try:
        return content(path, most=most).decode()
    except UnicodeDecodeError:
        raise FileError(f"{path} is not text in UTF-8.") from None


def secrets_in(path: str) -> list[str]:
    """The lines of the file without the empty ones; raises FileError when none is left."""
    lines = [line.strip() for line in text(path).splitlines() if line.strip()]
    if not lines:
        raise FileError(f"{path} is empty.")
    return lines


def secret_in(path: str) -> str:
    """The only line of the file; raises FileError when there is none, or more than one."""
    first, *more = secrets_in(path)
    if more:
        raise FileError(f"{path} holds more than one line.")
    return first


def obstacle(path: str | Path, mode: int = os.R_OK) -> str:
    """What keeps this process from using a file or folder, with the name of its user; empty if nothing does.

    mode: as of `os.access`: R_OK to read it, X_OK to run it, R_OK | W_OK to read and write in a folder. A
    missing file is an obstacle, too.
    """
    there = Path(os.path.realpath(path))
    for folder in reversed(there.parents):
        if not os.path.lexists(folder):
            break
        if not os.access(folder, os.X_OK):
            return f"the user {_user()} may not enter the folder {folder}"
    if not os.path.lexists(there):
        return f"there is no file {there}"
    if os.access(there, mode):
        return ""
    verb = {os.R_OK: "read", os.X_OK: "run", os.R_OK | os.W_OK: "read and write in"}[mode]
    return f"the user {_user()} may not {verb} {there}"


def why_not(error: OSError, path: str | Path) -> str:
    """Why a file cannot be read, as the end of a sentence; error: of the attempt."""
    return (isinstance(error, PermissionError) and obstacle(path)) or str(error.strerror)


def is_missing(path: str | Path) -> bool:
    """Whether there is certainly nothing at this path; False if this process may not look."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _user() -> str:
    """The name of the user that this process runs as; its number where it has none, as in a container."""
    number = os.geteuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def others_can_read(path: str) -> bool:
    """Whether every account of the machine may read the file; False if it does not exist."""
    try:
        return bool(Path(path).stat().st_mode & 0o004)
    except OSError:
        return False
