"""Files with keys and secrets, as operators, systemd, Docker and Kubernetes provide them to a service."""

from pathlib import Path

LONGEST = 65_536  # bytes of a file with secrets


class FileError(Exception):
    """A file cannot be used; the text is one sentence and contains nothing of its content."""


def content(path: str | Path, *, most: int) -> bytes:
    """The content of a file; raises FileError if it has more than so many bytes."""
    try:
        with Path(path).open("rb") as file:
            found = file.read(most + 1)
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}.") from None
    if len(found) > most:
        raise FileError(f"{path} has more than {most} bytes.")
    return found


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


def others_can_read(path: str) -> bool:
    """Whether every account of the machine may read the file; False if it does not exist."""
    try:
        return bool(Path(path).stat().st_mode & 0o004)
    except OSError:
        return False
