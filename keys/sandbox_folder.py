"""Which folder keeps a sandbox, so that commands typed in it need not set `ENVIRONMENT=sandbox`.

`make sandbox` leaves a mark in the state folder. Only `manage.py` reads it, never the web server.
"""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

MARK = "sandbox.folder"
# Where one of these is set, the shell or unit is set up for a service, and ENVIRONMENT was forgotten.
# BASE_URL counts when it is not http: developers' guides have it exported for their own machine.
SET_FOR_A_SERVICE = (
    "SECRET_KEY",
    "KEY_SEALING_KEYS",
    "KEY_SEALING_KEYS_FILE",
    "DATABASE_URL",
    "EMAIL_URL",
    "DEFAULT_FROM_EMAIL",
    "STATE_DIRECTORY",
)


def leave_mark(folder: Path) -> None:
    """Mark the folder as the state folder of a sandbox; raises OSError."""
    (folder / MARK).write_text(_content(folder))


def says_sandbox(folder: Path, environment: Mapping[str, str]) -> bool:
    """Whether a command that was not given an environment belongs to the sandbox of this folder.

    Never when a variable is set, be it empty, that belongs to a service.
    """
    if any(name in environment for name in SET_FOR_A_SERVICE):
        return False
    if not environment.get("BASE_URL", "http://").startswith("http://"):
        return False
    with suppress(OSError, ValueError), (folder / MARK).open() as file:
        return file.read(8192) == _content(folder)
    return False


def _content(folder: Path) -> str:
    """The path and the inode of the folder: a copy of the folder, here or on a server, has another."""
    return f"{folder.resolve()}\n{folder.stat().st_ino}\n"
