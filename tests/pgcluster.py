"""A temporary PostgreSQL cluster for one test run, loaded by `-p tests.pgcluster`.

The tests run on `DATABASE_URL` if it is set, otherwise on this cluster if PostgreSQL is installed,
otherwise on SQLite. The cluster listens on a Unix socket only and ends with the test run.
"""

import contextlib
import ctypes
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest


def binaries() -> Path | None:
    """The folder with `initdb` and `postgres`: PG_BINDIR, Debian's newest, or the one on PATH."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: int(p.parent.name), reverse=True)
    on_path = shutil.which("initdb")
    candidates = [os.environ.get("PG_BINDIR"), *debian, on_path and Path(os.path.realpath(on_path)).parent]
    return next((Path(c) for c in candidates if c and (Path(c) / "initdb").exists()), None)


def short_folder(prefix: str) -> Path:
    """A new folder in PG_TMPDIR or /tmp. Its path is short, because that of a socket has 107 bytes."""
    return Path(tempfile.mkdtemp(prefix=prefix, dir=os.environ.get("PG_TMPDIR", "/tmp")))


def _unprivileged() -> dict[str, Any]:
    """The user that runs the server: initdb refuses root, so root uses `postgres` or `nobody`."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            entry = pwd.getpwnam(name)
            return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    return {}


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGINT)


class Cluster:
    """One running server; `url` is what Django's DATABASE_URL takes."""

    def __init__(self, bindir: Path, **options: str) -> None:
        """`options` are settings of PostgreSQL, in place of the ones below."""
        self.bindir, self._options = bindir, options
        identity = _unprivileged()
        self.root = short_folder("pgtest-")
        if identity:
            os.chown(self.root, identity["user"], identity["group"])
        self._common: dict[str, Any] = {
            "cwd": "/",
            "env": {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/tmp"},
            **identity,
        }
        self._make()
        self.url = f"postgresql://postgres@/postgres?host={self.root}"
        if port := options.get("port"):  # else left out, so that a test can append PgBouncer's
            self.url += f"&port={port}"
        self.start()

    def _make(self) -> None:
        """Fill the folder `d` of `root`."""
        initdb = [self.bindir / "initdb", "-D", self.root / "d", "-U", "postgres", "-A", "trust"]
        subprocess.run(
            [*initdb, "-E", "UTF8", "--locale=C.UTF-8", "--no-sync", "--no-instructions"],
            check=True,
            capture_output=True,
            **self._common,
        )

    def start(self) -> None:
        """Start the server, for the first time or after `shut_down`."""
        options = {
            "fsync": "off",
            "synchronous_commit": "off",
            "full_page_writes": "off",
            "max_connections": 100,
            "shared_buffers": "64MB",
            "timezone": "UTC",
            **self._options,
        }
        flags = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
        with open(self.root / "log", "ab") as log:
            self.process = subprocess.Popen(
                [self.bindir / "postgres", "-D", self.root / "d", "-k", self.root, "-h", "", *flags],
                stdout=log,
                stderr=log,
                **self.as_owner(),
            )
        self._wait()

    def _wait(self) -> None:
        for _ in range(3000):
            try:
                psycopg.connect(self.url).close()
                return
            except psycopg.OperationalError:
                if self.process.poll() is not None:
                    raise RuntimeError((self.root / "log").read_text()) from None
                time.sleep(0.02)
        raise RuntimeError("PostgreSQL did not start within a minute")

    def as_owner(self) -> dict[str, Any]:
        """Arguments of Popen for a program that runs as the server's user and ends with this process."""
        return {"preexec_fn": _die_with_parent, **self._common}

    def shut_down(self) -> None:
        """End the server at once and keep its data."""
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait(60)

    def kill(self) -> None:
        """Kill all processes of the server at once; `start` then recovers its data."""
        for pid in [self.process.pid, *self._children()]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait(60)

    @contextlib.contextmanager
    def hanging(self) -> Iterator[None]:
        """While the block runs, the kernel accepts connections, but the server does not answer."""
        os.kill(self.process.pid, signal.SIGSTOP)
        stopped = [self.process.pid, *self._children()]
        for pid in stopped[1:]:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in reversed(stopped):
                os.kill(pid, signal.SIGCONT)

    def _children(self) -> list[int]:
        listed = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(pid) for pid in listed.split()]

    def stop(self) -> None:
        if self.process.poll() is None:
            self.shut_down()
        shutil.rmtree(self.root, ignore_errors=True)


_running: list[Cluster] = []


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Iterator[None]:
    """Start before pytest-django reads the settings, and set the environment to sandbox.

    Then load the fixtures. A `conftest.py` would give them to the tests of its own folder only, but those of
    the client libraries are in `clients/tests`.
    """
    os.environ["ENVIRONMENT"] = "sandbox"
    bindir = binaries()
    if "DATABASE_URL" not in os.environ and bindir:
        _running.append(Cluster(bindir))
        os.environ["DATABASE_URL"] = _running[0].url
    yield
    early_config.pluginmanager.import_plugin("tests.fixtures")


def pytest_unconfigure(config: pytest.Config) -> None:
    while _running:
        _running.pop().stop()
