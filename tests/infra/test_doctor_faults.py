"""The doctor finds real faults of PostgreSQL and of a clock: nothing of the service is replaced.

The servers are the tests' own. The wrong clock is that of a process of `manage.py doctor`.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.utils import timezone

from infra import diagnosis
from infra.doctor import State
from tests.own_databases import ROOT, sandbox
from tests.pgcluster import Cluster, binaries
from tools.benchmarks.servers import MissingProgramError
from tools.drills.clock import off_by
from tools.drills.standby import Standby

pytestmark = [pytest.mark.postgresql, pytest.mark.slow, pytest.mark.django_db]
OK, SOON, NOW = State.OK, State.SOON, State.NOW
Check = Callable[[datetime], tuple[State, str]]
# The command runs in the folder of the data. It succeeds once a file stands beside that.
ARCHIVE = {"archive_mode": "on", "archive_command": "test -e ../archive_works"}


@pytest.fixture(scope="module")
def server() -> Iterator[Cluster]:
    """A server whose archive does not work."""
    bindir = binaries()
    if bindir is None:
        pytest.skip("could not run without PostgreSQL's programs")
    server = Cluster(bindir, **ARCHIVE)
    yield server
    server.stop()


@pytest.fixture
def examined(server: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The checks ask this server, as a role without any right of its own."""
    with psycopg.connect(server.url, autocommit=True) as superuser:
        superuser.execute("DROP ROLE IF EXISTS service")
        superuser.execute("CREATE ROLE service LOGIN")
    another = connection.copy()
    another.settings_dict |= {"HOST": str(server.root), "PORT": "", "NAME": "postgres", "USER": "service"}
    monkeypatch.setattr(diagnosis, "connection", another)
    yield
    another.close()


def until(check: Check, state: State) -> str:
    """What the check says as soon as it gives this state. The server's figures may be a moment old."""
    for _ in range(200):
        given, seen = check(timezone.now())
        if given == state:
            return seen
        time.sleep(0.05)
    raise AssertionError(f"{check.__name__} still says {given.name}: {seen}")


def switch_wal(server: Cluster) -> None:
    """Gives the archive something to do."""
    with psycopg.connect(server.url, autocommit=True) as superuser:
        superuser.execute("CREATE TABLE written (); DROP TABLE written; SELECT pg_switch_wal()")


@pytest.mark.usefixtures("examined")
def test_an_archive_that_fails_is_found_until_it_works_again(server: Cluster) -> None:
    assert diagnosis.archive(timezone.now())[0] == OK

    switch_wal(server)

    assert until(diagnosis.archive, NOW) == "PostgreSQL cannot archive its WAL."
    (server.root / "archive_works").touch()
    switch_wal(server)
    until(diagnosis.archive, OK)


@pytest.mark.usefixtures("examined")
def test_a_synchronous_standby_that_is_absent_or_went_away_is_found(server: Cluster) -> None:
    assert diagnosis.standby(timezone.now()) == (OK, "None is configured.")
    with psycopg.connect(server.url, autocommit=True) as superuser:
        superuser.execute("ALTER SYSTEM SET synchronous_standby_names = 'absent'")
        superuser.execute("SELECT pg_reload_conf()")

    assert until(diagnosis.standby, SOON) == "No standby is synchronous."

    standby = Standby(server.bindir, server)
    try:
        assert diagnosis.standby(timezone.now()) == (SOON, "Only pg_monitor sees the standbys.")
        with psycopg.connect(server.url, autocommit=True) as superuser:
            superuser.execute("GRANT pg_monitor TO service")
        assert until(diagnosis.standby, OK) == "Synchronous standbys: 1."
    finally:
        standby.stop()
    assert until(diagnosis.standby, SOON) == "No standby is synchronous."


def doctor_off_by(seconds: int, server: Cluster, folder: Path) -> dict[str, Any]:
    """The findings of a process whose clock is off, by the name of the check."""
    try:
        wrong = off_by(seconds, folder)
    except MissingProgramError as missing:
        pytest.skip(f"could not run: {missing}")
    # A new process, because the loader reads the variables: `manage` forks a process that runs already.
    done = subprocess.run(
        [sys.executable, "manage.py", "doctor", "--json"],
        cwd=ROOT,
        env=sandbox(server.url, folder) | wrong,
        capture_output=True,
        text=True,
    )
    return {each["check"]: each for each in json.loads(done.stdout)["checks"]}


def test_a_clock_that_is_a_little_off_is_found(server: Cluster, tmp_path: Path) -> None:
    found = doctor_off_by(-8, server, tmp_path)

    assert found["clock"]["state"] == "SOON"
    assert found["clock"]["seen"].startswith("It differs from the database's by 8.")
    assert found["database"]["state"] == "ok"


def test_a_clock_with_which_no_connection_is_opened_is_named_as_the_reason(
    server: Cluster, tmp_path: Path
) -> None:
    found = doctor_off_by(70, server, tmp_path)

    assert found["clock"]["state"] == "NOW"
    assert found["clock"]["seen"].startswith("The clocks of this machine and of the database differ by ")
    assert found["database"]["seen"] == "This check fails: WrongClockError."
    assert found["database"]["todo"].startswith("see clock, or ")
    assert found["migrations"]["todo"] == "see the check database first"
