"""Writes the files of `deploy/setup` so that a run that breaks off never leaves only some of them in use.

The files are written and checked in the folder UNFINISHED. Once all of them are good, it is renamed to
FINISHED, and the files are moved into their places. The next run erases UNFINISHED, which nothing has used,
and completes the moves from FINISHED.
"""

import fcntl
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

UNFINISHED, FINISHED = ".setup-unfinished", ".setup-finished"
# Lets other accounts open files whose names they know: a setting such as AUDIT_KEY_FILE may name a file there
# that belongs to the service's user.
MODE = 0o711
_SIGNALS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


def refuse_if_written(folder: Path, names: tuple[str, ...]) -> None:
    """Ends the program if one of the files is in the folder; says which, and how to go on."""
    there = [name for name in names if os.path.lexists(folder / name)]
    if not there:
        return
    lacking = [name for name in names if name not in there and name != "database.sql"]
    lacks = f" It lacks {', '.join(lacking)}." if lacking else ""
    sys.exit(
        f"{folder} has {', '.join(there)}, and nothing is overwritten, because a lost sealing key cannot be "
        f"replaced.{lacks} If these are the settings of this service, go on with docs/operate.md, “First "
        "start”. If no service has ever run with them, move them away and run this again."
    )


def write(
    folder: Path,
    files: Mapping[str, str],
    *,
    accept: Callable[[Path], str],
    owners: Mapping[str, int],
) -> str:
    """Writes the files, by their names; nobody else can read them at any moment.

    accept: gets the folder with the new files, and ends the program unless they are good; its result is
    returned. owners: the numbers of the users that files belong to, if this is run by root.
    """
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    if is_new:
        folder.chmod(MODE)
    unfinished = folder / UNFINISHED
    with _alone(folder):
        refuse_if_written(folder, tuple(files))
        try:
            if unfinished.exists():
                shutil.rmtree(unfinished)
            unfinished.mkdir(mode=0o700)
            for name, text in files.items():
                _write(unfinished / name, text, owners.get(name))
            accepted = accept(unfinished)
        except BaseException:
            shutil.rmtree(unfinished, ignore_errors=True)
            if is_new:
                with suppress(OSError):
                    folder.rmdir()
            raise
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)  # from here on the files count
        unfinished.rename(folder / FINISHED)
        _move(folder)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    return accepted


def complete(folder: Path) -> bool:
    """Moves the files of a run that had finished them into their places; returns whether there were any."""
    if not (folder / FINISHED).is_dir():
        return False
    with _alone(folder):
        _move(folder)
    return True


def _move(folder: Path) -> None:
    finished = folder / FINISHED
    for file in sorted(finished.iterdir()):
        if os.path.lexists(folder / file.name):
            sys.exit(f"{folder / file.name} and {file} are both there. Keep the one that the service uses.")
        file.rename(folder / file.name)
    finished.rmdir()


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Ends the program if another run writes into this folder."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        sys.exit(f"Another run of this program is writing into {folder}.")
    finally:
        os.close(opened)


def _write(path: Path, text: str, owner: int | None) -> None:
    opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(opened, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(opened)
        if owner is not None and not os.geteuid():
            os.fchown(opened, owner, -1)
