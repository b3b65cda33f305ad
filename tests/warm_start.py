"""Runs programs of the project in new processes that need not import Django and other packages first.

A Python that begins with nothing spends most of a second on these imports, and the tests start hundreds. The
fork server of `multiprocessing` imports them once. What is forked from it imports all modules of the project,
so it reads the settings and its environment as every start does.
"""

import atexit
import os
import runpy
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import get_context
from pathlib import Path
from signal import SIGKILL
from socket import socket
from tempfile import NamedTemporaryFile
from threading import Lock
from typing import Any

from tools.benchmarks.sites import Site, die_with_parent

ROOT = Path(__file__).resolve().parent.parent
LONGEST = 120  # seconds; a longer wait never ends
LISTENER = 200  # the number of gunicorn's socket, far from those that the fork server uses
_forks = get_context("forkserver")
_forks.set_forkserver_preload(["tests.imported_packages"])
_one_at_a_time = Lock()  # `multiprocessing` may read the status of one process in two threads, and lose it


def run(environment: Mapping[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    """What Python does with these words: `-c` and a program, `-m` and a module, or the path of a script."""
    with _one_at_a_time, NamedTemporaryFile() as printed, NamedTemporaryFile() as complained:
        files = [os.devnull, printed.name, complained.name]
        process = _forks.Process(target=_obey, args=(dict(environment), words, files))
        process.start()
        process.join(LONGEST)
        if (status := process.exitcode) is None:
            process.kill()
            raise subprocess.TimeoutExpired(list(words), LONGEST)
        out, err = (Path(name).read_text() for name in files[1:])
        return subprocess.CompletedProcess(list(words), status, out, err)


class WarmSite(Site):
    """A site whose gunicorn is started so; benchmarks start it as in production."""

    def _started(
        self, command: Callable[[int], Sequence[str]], environment: Mapping[str, str], listener: socket
    ) -> "Started":
        log = f"/proc/{os.getpid()}/fd/{self.log.fileno()}"
        _interpreter, *words = command(LISTENER)
        return Started(target=_obey, args=(environment, words, [os.devnull, log, log], listener))


class Started:
    """A process with the methods of `Popen` that `Server` uses."""

    def __init__(self, **work: Any) -> None:
        self._process = _forks.Process(daemon=True, **work)
        with _one_at_a_time:
            self._process.start()
        self.pid = self._process.pid

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(SIGKILL)

    def wait(self, seconds: float) -> int:
        with _one_at_a_time:
            self._process.join(seconds)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired(str(self.pid), seconds)
        return self._process.exitcode


def _obey(
    environment: Mapping[str, str],
    words: Sequence[str],
    files: Sequence[str],
    listener: socket | None = None,
) -> None:
    die_with_parent()
    for number, name in enumerate(files):
        os.dup2(os.open(name, os.O_WRONLY | os.O_APPEND if number else os.O_RDONLY), number)
    if listener:
        os.dup2(listener.fileno(), LISTENER)
        listener.close()
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(ROOT)
    try:
        match words:
            case ["-c", program, *rest]:
                sys.argv = ["-c", *rest]
                exec(program, {"__name__": "__main__"})
            case ["-m", module, *rest]:
                sys.argv = [module, *rest]
                runpy.run_module(module, run_name="__main__", alter_sys=True)
            case [script, *_]:
                sys.argv = list(words)
                runpy.run_path(script, run_name="__main__")
    finally:
        atexit._run_exitfuncs()
