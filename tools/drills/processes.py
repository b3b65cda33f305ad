"""Runs a program for a limited time, and ends every process that it started. Needs Linux.

A process whose parent has ended is given to the nearest ancestor that adopts (PR_SET_CHILD_SUBREAPER of
prctl(2)). This process adopts while the program runs, so it finds each process of the program, also one in a
session of its own. As init would, it removes those that have ended from the table of processes: Patroni waits
for that before it starts a server again.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep

from tools.benchmarks.sites import die_with_parent

GRACE = 30.0  # seconds in which a program whose time is over may clean up
LINGER = 5.0  # seconds in which its other processes may end after a program that ended by itself
KILLED = 30.0  # seconds after which a killed process should be gone
LOOK = 0.05  # seconds between two looks at the processes
_PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True)
class Ending:
    """How a program ended. `left` has the commands of processes that it left running."""

    status: int | None  # None: its time was over
    left: list[str]


def run(
    command: Sequence[str], seconds: float, environment: Mapping[str, str], *, grace: float = GRACE
) -> Ending:
    """Runs this command. After `seconds` it gets SIGTERM, and SIGKILL after another `grace` seconds.

    When this returns or raises, none of its processes is left.
    """
    with _adopting() as known:
        process = subprocess.Popen(
            command, env=environment, start_new_session=True, preexec_fn=die_with_parent
        )
        status = None
        try:
            status = _status(process, seconds, known)
        finally:
            if status is None:
                process.terminate()
                _status(process, grace, known)
            left = _end_all(known, LINGER if status is not None else 0)
            process.wait()
    return Ending(status, left)


def _status(process: "subprocess.Popen[bytes]", seconds: float, known: set[int]) -> int | None:
    """The status of the process; None if it has not ended after so many seconds."""
    deadline = monotonic() + seconds
    while process.poll() is None and monotonic() < deadline:
        _running(known | {process.pid})
        sleep(LOOK)
    return process.returncode


@contextlib.contextmanager
def _adopting() -> Iterator[set[int]]:
    """Gives the processes that this one already has. Those that come in the block belong to the program."""
    _adopt(True)
    try:
        yield _children()
    finally:
        _adopt(False)


def _adopt(whether: bool) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, int(whether), 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def _end_all(known: set[int], seconds: float) -> list[str]:
    """Kills all that is left of the program. Returns the commands of what did not end in so many seconds."""
    _wait_for_the_end(known, seconds)
    left = [_command(pid) for pid in _running(known)]
    deadline = monotonic() + KILLED
    while pids := _running(known):
        if monotonic() > deadline:
            raise RuntimeError(f"these processes do not end: {pids}")
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        sleep(LOOK)
    return left


def _wait_for_the_end(known: set[int], seconds: float) -> None:
    deadline = monotonic() + seconds
    while _running(known) and monotonic() < deadline:
        sleep(LOOK)


def _children() -> set[int]:
    """The numbers of the processes whose parent is a thread of this process."""
    lists = Path("/proc/self/task").glob("*/children")
    return {int(pid) for each in lists for pid in each.read_text().split()}


def _running(known: set[int]) -> set[int]:
    """The children of this process that are not known and have not ended. Those that have are removed."""
    while True:
        ours = _children() - known
        if not [pid for pid in ours if _reaped(pid)]:  # else its children have just become ours
            return ours


def _reaped(pid: int) -> bool:
    """Whether this child has ended. Then its entry in the table of processes is gone as well."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True


def _command(pid: int) -> str:
    """The words with which a process was started; its number if it has just ended."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")
    except OSError:
        words = b""
    return words.decode(errors="replace").strip() or f"process {pid}"
