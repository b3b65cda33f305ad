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
from collections.abc import Mapping, Sequence
from multiprocessing import get_context
from pathlib import Path
from tempfile import NamedTemporaryFile
from threading import Lock

ROOT = Path(__file__).resolve().parent.parent
LONGEST = 120  # seconds; a longer wait never ends
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


def _obey(environment: Mapping[str, str], words: Sequence[str], files: Sequence[str]) -> None:
    for number, name in enumerate(files):
        os.dup2(os.open(name, os.O_WRONLY if number else os.O_RDONLY), number)
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
