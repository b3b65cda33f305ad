"""Copies of the project in which mutants are tried, each with a database of its own on one server."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import psycopg

from tests.pgcluster import Cluster, binaries
from tests.project_copy import copy_project
from tools.mutants.mutant import Mutant, applied

LONGEST = 600  # seconds for the tests of one mutant
_NO_TESTS = 5  # pytest's status, if the quick tests have none of those that were named
_MIGRATED = "migrated"  # the database that the others are copies of
_MIGRATE = """
import django
django.setup()
from django.db import connection
connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
"""


class Verdict(Enum):
    """The result for one mutant."""

    KILLED = "killed"
    SURVIVED = "SURVIVED"
    UNCLEAR = "UNCLEAR"  # the tests could not run, or did not end in time


@dataclass(frozen=True)
class Outcome:
    """The verdict, with the test that failed or the output of pytest."""

    verdict: Verdict
    about: str


def outcome(returncode: int, output: str) -> Outcome:
    """The outcome of a run of pytest with `-x -rfE`.

    An error outside a test, such as a database that cannot be reached, does not count as a failed test.
    """
    failed = [line for line in output.splitlines() if line.startswith("FAILED ")]
    if returncode == 1 and failed:
        return Outcome(Verdict.KILLED, failed[0].removeprefix("FAILED ").partition(" - ")[0])
    if returncode in (0, _NO_TESTS):
        return Outcome(Verdict.SURVIVED, "")
    return Outcome(Verdict.UNCLEAR, output[-3000:])


@contextmanager
def database_server() -> Iterator[Cluster]:
    """A PostgreSQL server for the whole run. Ends the program if PostgreSQL is not installed."""
    bindir = binaries()
    if bindir is None:
        raise SystemExit("PostgreSQL is not installed: many of the tests need it.")
    cluster = Cluster(bindir)
    try:
        yield cluster
    finally:
        cluster.stop()


class ProjectCopy:
    """One copy of the project. Two threads may use two copies at the same time, never the same one."""

    def __init__(self, folder: Path, name: str, cluster: Cluster) -> None:
        self.root = copy_project(folder, tests=True)
        self._name, self._cluster = name, cluster

    def migrate(self) -> None:
        """Create the migrated database that every run copies, because migrating takes seconds."""
        self._run([sys.executable, "-c", _MIGRATE], _MIGRATED, check=True)

    def try_out(self, mutant: Mutant, *, quick: bool = False) -> Outcome:
        """Runs the mutant's tests with the mutant applied. Raises MutantError."""
        with applied(mutant, self.root):
            return self.run(mutant.tests, quick=quick)

    def run(self, tests: Collection[str], *, quick: bool = False, longest: float = LONGEST) -> Outcome:
        """Runs these tests, or those of them that `make quick` runs. No tests count as passed.

        longest: the seconds after which they are ended, and the verdict is UNCLEAR.
        """
        if not tests:
            return Outcome(Verdict.SURVIVED, "")
        with psycopg.connect(self._cluster.url, autocommit=True) as connection:
            connection.execute(f'DROP DATABASE IF EXISTS "test_{self._name}" WITH (FORCE)')
            connection.execute(f'CREATE DATABASE "test_{self._name}" TEMPLATE "test_{_MIGRATED}"')
        options = ["-x", "-rfE", "--tb=short", "--reuse-db", "-p", "no:cacheprovider"]
        try:
            command = [sys.executable, "-m", "pytest", *options, *tests]
            ran = self._run(command, self._name, quick=quick, longest=longest)
        except subprocess.TimeoutExpired:
            return Outcome(Verdict.UNCLEAR, f"the tests did not end within {longest:.0f} seconds")
        return outcome(ran.returncode, ran.stdout)

    def _run(
        self,
        command: Sequence[str],
        database: str,
        *,
        check: bool = False,
        quick: bool = False,
        longest: float = LONGEST,
    ) -> subprocess.CompletedProcess[str]:
        environment = {
            **os.environ,
            "DATABASE_URL": self._cluster.url.replace("/postgres?", f"/{database}?"),
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "ENVIRONMENT": "sandbox",
            "PYTHONDONTWRITEBYTECODE": "",  # compiling the tests takes longer than running most of them
            "QUICK": "1" if quick else "",
            "REQUIRE_EVERYTHING": "",
        }
        return subprocess.run(
            command,
            cwd=self.root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=longest,
            check=check,
        )


@contextmanager
def copies(number: int, cluster: Cluster) -> Iterator[list[ProjectCopy]]:
    """This number of copies of the project, with the migrated database."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        made = []
        for index in range(number):
            own = Path(folder) / str(index)
            own.mkdir()
            made.append(ProjectCopy(own, f"mutants_{index}", cluster))
        made[0].migrate()
        yield made
