"""Processes of the service on the test's database: the environment of instances, and commands to be killed.

As a module it runs commands: it loads Django once and forks a child for each command.
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

from tools.benchmarks.browsers import ORIGIN

# Before a command: it hears SIGINT although a suite that runs in the background was started with it ignored.
INTERRUPTIBLE = ("env", "--default-signal=INT")

ROOT = Path(__file__).resolve().parent.parent
LONGEST = 60  # seconds for one command


def environment(settings: Any, folder: Any) -> dict[str, str]:
    """The environment of a process of this service: a sandbox behind a proxy, at `ORIGIN`."""
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
    """Runs each management command in a new process that can be killed at any moment."""

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
        """Runs a command to its end; returns the seconds that it took."""
        status, seconds = self._send(words)
        assert status == 0, (words, status)
        return seconds

    def kill(self, *words: str, after: float | None = None, at_write: int | None = None) -> bool:
        """Kills a command after some seconds or before a certain write; returns whether it was killed."""
        before = _sessions()  # of threads that an earlier test left behind
        status, _seconds = self._send(words, after, at_write)
        _until_closed_but(before)
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


def _sessions() -> set[int]:
    """The other sessions of clients on the test's database."""
    others = "datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT pid FROM pg_stat_activity WHERE {others}")
        return {pid for (pid,) in cursor.fetchall()}


def _until_closed_but(before: set[int]) -> None:
    """Waits until PostgreSQL has closed the session of the killed client, by rollback or commit."""
    for _ in range(6000):
        if _sessions() <= before:
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
            os.kill(child, signal.SIGKILL)  # not waited for yet, so the id is still the child's
        _, status = os.waitpid(child, 0)
        print(json.dumps([os.waitstatus_to_exitcode(status), time.monotonic() - began]), flush=True)


def _obey(words: Sequence[str], at_write: int | None) -> None:
    status, writes = 1, count(1)
    signal.alarm(LONGEST)  # a longer wait for a lock never ends

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
