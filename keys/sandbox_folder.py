"""Marks the state folder of a sandbox, so that commands run there need not set `ENVIRONMENT=sandbox`.

`make sandbox` writes the mark. Only `manage.py` reads it, never the web server.
"""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

MARK = "sandbox.folder"
# If one of these is set, the shell or unit is set up for a service, and ENVIRONMENT was forgotten. BASE_URL
# counts only if it is not http, because developers export it for their own machine.
SET_FOR_A_SERVICE = (
    *("SECRET_KEY", "KEY_SEALING_KEYS", "DATABASE_URL", "EMAIL_URL"),
    *("SECRET_KEY_FILE", "KEY_SEALING_KEYS_FILE", "DATABASE_URL_FILE", "EMAIL_URL_FILE"),
    "DEFAULT_FROM_EMAIL",
    "OPERATOR_NAME",
    "OPERATOR_PRIVACY_NOTICE",
    "OPERATOR_HELP",
    "STATE_DIRECTORY",
)


def leave_mark(folder: Path, base_url: str) -> None:
    """Marks the folder as the state folder of a sandbox at this address; raises OSError."""
    (folder / MARK).write_text(_content(folder) + base_url)


def base_url(folder: Path) -> str:
    """The address of the sandbox that `says_sandbox` found; empty if an earlier release left the mark."""
    return (folder / MARK).read_text().removeprefix(_content(folder))


def says_sandbox(folder: Path, environment: Mapping[str, str]) -> bool:
    """Whether a command without ENVIRONMENT belongs to the sandbox of this folder.

    False if a variable of SET_FOR_A_SERVICE is set, even to nothing.
    """
    if any(name in environment for name in SET_FOR_A_SERVICE):
        return False
    if not environment.get("BASE_URL", "http://").startswith("http://"):
        return False
    with suppress(OSError, ValueError), (folder / MARK).open() as file:
        return file.read(8192).startswith(_content(folder))
    return False


def _content(folder: Path) -> str:
    """The path and the inode of the folder, which differ for every copy of the folder."""
    return f"{folder.resolve()}\n{folder.stat().st_ino}\n"
