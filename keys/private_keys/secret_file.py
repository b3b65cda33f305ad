"""Secrets in files, as systemd, Docker and Kubernetes provide them to a service."""

from pathlib import Path

MAX_FILE = 65_536


class SecretFileError(Exception):
    """A file cannot be read or has no secrets; the text is one sentence and contains none of them."""


def secrets_in(path: str) -> list[str]:
    """The lines of the file without the empty ones; raises SecretFileError when none is left."""
    try:
        with Path(path).open(encoding="utf-8") as file:
            text = file.read(MAX_FILE + 1)
    except OSError as error:
        raise SecretFileError(f"{path} cannot be read: {error.strerror}.") from None
    except ValueError:
        raise SecretFileError(f"{path} is not text in UTF-8.") from None
    if len(text) > MAX_FILE:
        raise SecretFileError(f"{path} is too long to hold secrets.")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        raise SecretFileError(f"{path} is empty.")
    return lines


def secret_in(path: str) -> str:
    """The only line of the file; raises SecretFileError when there is none, or more than one."""
    first, *more = secrets_in(path)
    if more:
        raise SecretFileError(f"{path} holds more than one line.")
    return first


def others_can_read(path: str) -> bool:
    """Whether every account of the machine may read the file; False if it does not exist."""
    try:
        return bool(Path(path).stat().st_mode & 0o004)
    except OSError:
        return False
