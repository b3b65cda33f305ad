"""Processes of the service on the test's database: what instances need to run, and commands that are killed.

Run as a module it is the latter: Django loaded once, and a child for each command it is told.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from io import StringIO
from itertools import count
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import django
from django.core.management import call_command, get_commands, load_command_class
from django.db import connection

from tests.benchmarks.browsers import ORIGIN

ROOT = Path(__file__).resolve().parent.parent
LONGEST = 60  # seconds for one command


def environment(settings: Any, folder: Any) -> dict[str, str]:
    """What a process needs to be this service: the sandbox, reached as `ORIGIN` behind a proxy."""
    url = urlsplit(os.environ["DATABASE_URL"])
    return {
        "PATH": os.environ["PATH"],
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "ENVIRONMENT": "sandbox",
        "BASE_URL": ORIGIN,
        "DATABASE_URL": url._replace(path=f"/{connection.settings_dict['NAME']}").geturl(),
        "SECRET_KEY": settings.SECRET_KEY,
        "KEY_SEALING_KEYS": ",".join(settings.KEY_SEALING_KEYS),
        "STATE_DIRECTORY": str(folder),
        "TRUSTED_PROXY_COUNT": "1",
        "LOG_LEVEL": "ERROR",
    }


class Commands:
    """Runs management commands, each in a process of its own that can be killed at any moment."""

    def __init__(self, surroundings: Mapping[str, str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.processes"],
            cwd=ROOT,
            env=dict(surroundings),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, *words: str) -> float:
        """To its end; how many seconds that took."""
        status, seconds = self._send(words)
        assert status == 0, (words, status)
        return seconds

    def kill(self, *words: str, after: float | None = None, at_write: int | None = None) -> bool:
        """Killed after so many seconds, or when about to write for that time; whether it came to that."""
        status, _seconds = self._send(words, after, at_write)
        _until_the_server_noticed()
        assert status in (0, -signal.SIGKILL), (words, status)
        return status != 0

    def _send(self, *order: Any) -> tuple[int, float]:
        assert self.process.stdin
        assert self.process.stdout
        print(json.dumps(order), file=self.process.stdin, flush=True)
        status, seconds = json.loads(self.process.stdout.readline())
        return status, seconds

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate(timeout=LONGEST)


def _until_the_server_noticed() -> None:
    """PostgreSQL rolls back when it finds the client gone, or has just committed."""
    ours = "datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
    for _ in range(6000):
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT count(*) FROM pg_stat_activity WHERE {ours}")
            if cursor.fetchone() == (0,):
                return
        time.sleep(0.01)
    raise AssertionError("a killed process still has a connection")


def _serve() -> None:
    for line in sys.stdin:
        words, after, at_write = (*json.loads(line), None, None)[:3]
        load_command_class(get_commands()[words[0]], words[0])  # imports what the child needs
        began = time.monotonic()
        child = os.fork()
        if child == 0:
            _obey(words, at_write)
        if after is not None:
            time.sleep(after)
            os.kill(child, signal.SIGKILL)  # nobody has waited for it, so the id is still its own
        _, status = os.waitpid(child, 0)
        print(json.dumps([os.waitstatus_to_exitcode(status), time.monotonic() - began]), flush=True)


def _obey(words: Sequence[str], at_write: int | None) -> None:
    status, writes = 1, count(1)
    signal.alarm(LONGEST)  # whoever waits for a lock for so long waits for ever

    def die(execute: Any, sql: str, *rest: Any) -> Any:
        if sql.startswith(("INSERT", "UPDATE", "DELETE")) and next(writes) == at_write:
            os.kill(os.getpid(), signal.SIGKILL)
        return execute(sql, *rest)

    try:
        with connection.execute_wrapper(die):
            call_command(*words, stdout=StringIO())
        status = 0
    finally:
        os._exit(status)


if __name__ == "__main__":
    django.setup()
    _serve()
