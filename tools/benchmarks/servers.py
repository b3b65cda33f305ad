"""The servers to measure: a temporary PostgreSQL with a prepared database for each."""

import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psycopg

from tests.pgcluster import Cluster, binaries
from tools.benchmarks.browsers import ORIGIN
from tools.benchmarks.sites import ROOT, Site, tree_seconds

HOLDERS = 4


class MissingProgramError(Exception):
    """A program that the benchmarks need is not installed; the text names it."""


@dataclass(frozen=True)
class Prepared:
    """A server that can be started: its environment, and the output of its prepare module."""

    application: str
    environment: Mapping[str, str]
    ready: str  # a path that answers 200 once the site is up
    facts: Mapping[str, Any]

    def open(self) -> Site:
        return Site(self.application, self.environment, ready=self.ready)


@dataclass(frozen=True)
class Servers:
    service: Prepared
    toolkit: Prepared
    folder: Path
    cluster: Cluster

    @contextmanager
    def copy_of_service(self, name: str) -> Iterator[Prepared]:
        """The service on a copy of its database as it is now; nothing may be connected to that."""
        create(self.cluster, name, template="service")
        environment = {**self.service.environment, "DATABASE_URL": _database(self.cluster, name)}
        try:
            yield replace(self.service, environment=environment)
        finally:
            with psycopg.connect(self.cluster.url, autocommit=True) as connection:
                connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')

    def database_seconds(self) -> float:
        """User and system time of all processes of the PostgreSQL cluster so far."""
        return tree_seconds(self.cluster.process.pid)

    def bare(self, documents: Mapping[str, bytes]) -> Prepared:
        """A Django project with one view that serves these bytes at these paths."""
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        for path, body in documents.items():
            (folder / path.removeprefix("/").replace("/", ":")).write_bytes(body)
        settings = "tools.benchmarks.bare.settings"
        environment = {
            "DJANGO_SETTINGS_MODULE": settings,
            "SECRET_KEY": "bare",
            "BARE_DOCUMENTS": str(folder),
        }
        return Prepared("tools.benchmarks.bare.wsgi", environment, next(iter(documents)), {})


# What PostgreSQL commits survives a crash, for each server that is measured.
DURABLE = {"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on"}


@contextmanager
def servers(**options: str) -> Iterator[Servers]:
    """Everything that the benchmarks need; removed afterwards. Raises MissingProgramError.

    options: settings of PostgreSQL, which otherwise keeps what it commits, as in production.
    """
    bindir = binaries()
    if bindir is None or not Path("/proc/self/stat").exists():
        raise MissingProgramError(
            "Benchmarks (b) to (g) need Linux and PostgreSQL's binaries (Debian's postgresql, or PG_BINDIR)."
        )
    folder = Path(tempfile.mkdtemp(prefix="bench-"))
    cluster = Cluster(bindir, **{"shared_buffers": "512MB", **DURABLE, **options})
    try:
        service, toolkit = _prepared(cluster, folder)
        yield Servers(service, toolkit, folder, cluster)
    finally:
        cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _prepared(cluster: Cluster, folder: Path) -> tuple[Prepared, Prepared]:
    """Prepares the databases of both servers in parallel."""
    for name in ("service", "toolkit", "provider"):
        create(cluster, name)
    ours = _service_environment(cluster, folder)
    # Measured as production, but prepared as a sandbox, whose authority certifies the signing key.
    sandbox = {**ours, "ENVIRONMENT": "sandbox"}
    theirs = {
        "DJANGO_SETTINGS_MODULE": "tools.benchmarks.oauth_toolkit.settings",
        "DATABASE_URL": _database(cluster, "toolkit"),
        "SECRET_KEY": secrets.token_urlsafe(32),
    }
    with (
        Work(["-m", "tools.benchmarks.holders", str(HOLDERS)], sandbox) as filling,
        Work(["manage.py", "collectstatic", "--no-input"], ours) as collecting,
        Work(["-m", "tools.benchmarks.oauth_toolkit.prepare", str(HOLDERS)], theirs) as their_filling,
    ):
        collecting.done()
        facts_of_ours = json.loads(filling.done())
        with psycopg.connect(ours["DATABASE_URL"], autocommit=True) as connection:
            connection.execute("UPDATE keys_databasemark SET environment = 'production'")
        service = Prepared("config.wsgi", ours, "/openid-connect/jwks", facts_of_ours)
        facts = json.loads(their_filling.done())
    return service, Prepared("tools.benchmarks.oauth_toolkit.wsgi", theirs, "/ready", facts)


def _service_environment(cluster: Cluster, folder: Path) -> dict[str, str]:
    return {
        "ENVIRONMENT": "production",
        "BASE_URL": ORIGIN,
        "DATABASE_URL": _database(cluster, "service"),
        "SECRET_KEY": secrets.token_urlsafe(64),
        "KEY_SEALING_KEYS": secrets.token_urlsafe(32),
        "STATE_DIRECTORY": str(folder),
        "TRUSTED_PROXY_COUNT": "1",
        "EMAIL_URL": "smtp+tls://localhost:25",
        "DEFAULT_FROM_EMAIL": "wallet@wallet.example",
        "OPERATOR_NAME": "Example Trust Ltd",
        "OPERATOR_PRIVACY_NOTICE": "https://operator.example/privacy",
        "OPERATOR_HELP": "help@operator.example",
    }


def create(cluster: Cluster, name: str, template: str = "template1") -> None:
    with psycopg.connect(cluster.url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
        # The cluster of the tests does not wait for the log of a commit; an operator's does.
        connection.execute(f'ALTER DATABASE "{name}" SET synchronous_commit = on')


def _database(cluster: Cluster, name: str) -> str:
    return cluster.url.replace("/postgres?", f"/{name}?")


class Work:
    """A Python process whose last line of output is its result."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        patience: float = 120,
        code: Path = ROOT,
    ) -> None:
        self.command, self.patience = command, patience  # in seconds
        self.process = subprocess.Popen(
            [sys.executable, *command],
            cwd=code,
            env={**environment, "PATH": os.environ["PATH"]},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def done(self) -> str:
        out, err = self.process.communicate(timeout=self.patience)
        if self.process.returncode:
            raise RuntimeError(f"{' '.join(self.command)} failed:\n{err[-6000:]}")
        return out.splitlines()[-1]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.process.poll() is None:  # another process has failed
            self.process.kill()
            self.process.communicate()
