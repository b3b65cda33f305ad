"""What is measured: one gunicorn per site, as deploy/gunicorn.conf.py has it, with one worker unless said.

CPU time and memory are read from the worker's accounts in /proc, so the load client, the other site and the
database do not count.
"""

import ctypes
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tools.benchmarks.browsers import Browser

ROOT = Path(__file__).resolve().parents[2]
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


def children(pid: int) -> list[int]:
    """The processes that `pid` started and that still run."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = entry.read_text().rpartition(")")[2].split()[1]
        except OSError:  # the process ended in the meantime
            continue
        if int(parent) == pid:
            found.append(int(entry.parent.name))
    return found


def cpu_seconds(pid: int) -> float:
    """User and system time of a process and all its threads so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def tree_seconds(pid: int) -> float:
    """User and system time of a process and its children so far, those that have ended included."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    own = sum(int(field) for field in fields[11:15]) / TICKS
    return own + sum(_seconds_or_none(child) for child in children(pid))


def _seconds_or_none(pid: int) -> float:
    try:
        return cpu_seconds(pid)
    except OSError:  # it has just ended; its parent counts it from now on
        return 0.0


def keep_to_one_core(pid: int) -> None:
    """Every thread of the process runs on the same core from now on, and so do those that it starts later."""
    core = max(os.sched_getaffinity(0))
    for task in Path(f"/proc/{pid}/task").iterdir():
        os.sched_setaffinity(int(task.name), {core})


def resident_megabytes(pid: int) -> float:
    """The resident memory of a process (VmRSS)."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE / 1e6


def proportional_megabytes(pid: int) -> float:
    """The memory of a process (PSS): of each page that several share, its part."""
    line = next(line for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines() if "Pss:" in line)
    return int(line.split()[1]) * 1024 / 1e6


class Server:
    """One running server on its own loopback port; a context manager that stops it.

    `command` gives the command for the number of the open file that listens. The server answers 200 on the
    path `ready` once it is up.
    """

    def __init__(
        self, command: Callable[[int], Sequence[str]], environment: Mapping[str, str], *, ready: str
    ) -> None:
        listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = listener.getsockname()[1]
        self.log = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `stop`
        self.process = self._started(command, {**environment, "PATH": os.environ["PATH"]}, listener)
        listener.close()
        try:
            self._wait(ready)
        except BaseException:
            self.stop()
            raise

    def _started(
        self, command: Callable[[int], Sequence[str]], environment: Mapping[str, str], listener: socket.socket
    ) -> Any:
        return subprocess.Popen(
            command(listener.fileno()),
            cwd=ROOT,
            env=environment,
            stdout=self.log,
            stderr=self.log,
            pass_fds=[listener.fileno()],
            preexec_fn=die_with_parent,
        )

    @property
    def worker(self) -> int:
        """The number of the process that answers."""
        return self.process.pid

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(10)
        self.log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is not None:
            error.add_note(f"\nThe last words of the server on {self.port}:\n{self._tail()}")
        self.stop()

    def _wait(self, ready: str) -> None:
        """Waits until `ready` is served. The socket already listens, so one request is enough."""
        try:
            with Browser(self.port) as browser:
                status = browser.get(ready).status
        except OSError as error:
            raise RuntimeError(f"no answer on {ready}\n{self._tail()}") from error
        if status != 200:
            raise RuntimeError(f"{ready} answered {status}\n{self._tail()}")

    def _tail(self) -> str:
        self.log.seek(0)
        return self.log.read().decode(errors="replace")[-6000:]


class Site(Server):
    """One running gunicorn, as deploy/gunicorn.conf.py has it."""

    def __init__(
        self, application: str, environment: Mapping[str, str], *, ready: str, options: Sequence[str] = ()
    ) -> None:
        def command(listener: int) -> list[str]:
            ours = ["--config", "deploy/gunicorn.conf.py", "--bind", f"fd://{listener}"]
            return [sys.executable, "-m", "gunicorn", application, *ours, *options]

        super().__init__(command, {"WEB_CONCURRENCY": "1", **environment}, ready=ready)

    @property
    def worker(self) -> int:
        """The worker's process id; there is one, and it lives as long as the site."""
        (worker,) = children(self.process.pid)
        return worker


def die_with_parent() -> None:
    """For `preexec_fn`: the process ends when this one does."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)
