"""Secrets in files, as systemd credentials, Docker and Kubernetes hand them to a service. Pure."""

from pathlib import Path

MAX_FILE = 65_536


class SecretFileError(Exception):
    """A file does not hold the secrets it should; the text is one sentence and names none of them."""


def secrets_in(path: str) -> list[str]:
    """The lines of the file that are not empty; raises SecretFileError when there is none."""
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
    """The one line of the file; raises SecretFileError when there is none, or more."""
    first, *more = secrets_in(path)
    if more:
        raise SecretFileError(f"{path} holds more than one line.")
    return first


def others_can_read(path: str) -> bool:
    """Whether every account of the machine may read the file; no when there is none."""
    try:
        return bool(Path(path).stat().st_mode & 0o004)
    except OSError:
        return False
