"""The doctor finds real faults of PostgreSQL and of a clock: nothing of the service is replaced.

The servers are the tests' own. The wrong clock is that of a process of `manage.py doctor`.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.utils import timezone

from infra import runs
from infra.alarms.alarm import State
from infra.database import diagnosis
from tests.own_databases import ROOT, sandbox
from tests.pgcluster import Cluster, binaries
from tools.benchmarks.servers import MissingProgramError
from tools.drills.clock import off_by
from tools.drills.standby import Standby

pytestmark = [pytest.mark.postgresql, pytest.mark.slow, pytest.mark.django_db]
MINUTE = timedelta(minutes=1)
OK, SOON, NOW = State.OK, State.SOON, State.NOW
Check = Callable[[datetime], tuple[State, str]]
# The command runs in the folder of the data. Files beside that say whether it hangs, and whether it succeeds.
_HANGS = "while test -e ../archive_hangs; do sleep 0.1; done"
ARCHIVE = {"archive_mode": "on", "archive_command": f"{_HANGS}; test -e ../archive_works"}


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


def watching(server: Cluster) -> None:
    """Gives the service's role the right that the documents tell operators to give."""
    with psycopg.connect(server.url, autocommit=True) as superuser:
        superuser.execute("GRANT pg_monitor TO service")


@pytest.mark.usefixtures("examined")
def test_an_archive_that_fails_is_found_until_it_works_again(server: Cluster) -> None:
    watching(server)
    assert diagnosis.archive(timezone.now())[0] == OK

    switch_wal(server)

    assert until(diagnosis.archive, NOW) == "PostgreSQL cannot archive its WAL."
    (server.root / "archive_works").touch()
    switch_wal(server)
    until(diagnosis.archive, OK)


@pytest.mark.usefixtures("examined")
def test_an_archive_command_that_hangs_is_found_although_nothing_failed(server: Cluster) -> None:
    """It is as late as the oldest file that waits is old; the check is told a later time."""
    watching(server)
    hangs = server.root / "archive_hangs"
    hangs.touch()
    (server.root / "archive_works").touch()
    try:
        switch_wal(server)
        assert diagnosis.archive(timezone.now())[0] == OK
        assert diagnosis.archive(timezone.now() + 6 * MINUTE)[0] == SOON
        assert diagnosis.archive(timezone.now() + 31 * MINUTE)[0] == NOW
    finally:
        hangs.unlink()


@pytest.mark.usefixtures("examined")
def test_without_the_right_to_see_the_archive_it_is_not_called_well(server: Cluster) -> None:
    with psycopg.connect(server.url, autocommit=True) as superuser:
        superuser.execute("REVOKE pg_monitor FROM service")
    (server.root / "archive_works").touch()
    assert until(diagnosis.archive, SOON) == "Only pg_monitor sees what waits to be archived."


@pytest.mark.parametrize(("by_pgbackrest", "state"), [(True, NOW), (False, OK)])
def test_an_archive_that_is_off_is_found_where_backups_need_it(by_pgbackrest: bool, state: State) -> None:
    """The tests' own server archives nothing."""
    now = timezone.now()
    runs.record(runs.BACKUP_WITH_WAL, now=now - MINUTE)
    runs.record(runs.BACKUP, now=now - MINUTE if by_pgbackrest else now)
    assert diagnosis.archive(now)[0] == state


@pytest.mark.usefixtures("examined")
def test_a_synchronous_standby_that_is_absent_or_went_away_is_found(server: Cluster) -> None:
    watching(server)
    assert diagnosis.standby(timezone.now()) == (OK, "DATABASE_STANDBYS expects none.")
    with psycopg.connect(server.url, autocommit=True) as superuser:
        superuser.execute("ALTER SYSTEM SET synchronous_standby_names = 'absent'")
        superuser.execute("SELECT pg_reload_conf()")

    assert until(diagnosis.standby, SOON) == "Standbys that stream: 0 of 0; synchronous: 0."

    standby = Standby(server.bindir, server)
    try:
        with psycopg.connect(server.url, autocommit=True) as superuser:
            superuser.execute("REVOKE pg_monitor FROM service")
        assert diagnosis.standby(timezone.now()) == (SOON, "Only pg_monitor sees the standbys.")
        watching(server)
        until(diagnosis.standby, OK)
    finally:
        standby.stop()
    assert until(diagnosis.standby, SOON) == "Standbys that stream: 0 of 0; synchronous: 0."
    with psycopg.connect(server.url, autocommit=True) as superuser:
        superuser.execute("ALTER SYSTEM RESET synchronous_standby_names")
        superuser.execute("SELECT pg_reload_conf()")


@pytest.mark.usefixtures("examined")
def test_standbys_are_counted_also_where_the_server_expects_none(server: Cluster, settings: Any) -> None:
    """So it is under Patroni, which empties synchronous_standby_names when all standbys are lost."""
    watching(server)
    settings.DATABASE_STANDBYS = 2
    assert diagnosis.standby(timezone.now()) == (NOW, "Standbys that stream: 0 of 2; synchronous: 0.")
    standby = Standby(server.bindir, server)
    try:
        assert until(diagnosis.standby, SOON).startswith("Standbys that stream: 1 of 2")
        settings.DATABASE_STANDBYS = 1
        until(diagnosis.standby, OK)
    finally:
        standby.stop()
        with psycopg.connect(server.url, autocommit=True) as superuser:
            superuser.execute("ALTER SYSTEM RESET synchronous_standby_names")
            superuser.execute("SELECT pg_reload_conf()")
    until(diagnosis.standby, NOW)


@pytest.mark.usefixtures("examined")
def test_wal_that_is_kept_for_nobody_is_found(server: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slot of a standby that does not come back fills the disk."""
    watching(server)
    assert diagnosis.replication_lag(timezone.now())[0] == OK
    with psycopg.connect(server.url, autocommit=True) as superuser:
        superuser.execute("SELECT pg_create_physical_replication_slot('forgotten', true)")
        try:
            for _ in range(20):  # 16 MB each
                superuser.execute("CREATE TABLE IF NOT EXISTS written (); DROP TABLE written")
                superuser.execute("SELECT pg_switch_wal()")
            state, seen = diagnosis.replication_lag(timezone.now())
            assert state == SOON, seen
        finally:
            superuser.execute("SELECT pg_drop_replication_slot('forgotten')")
    assert diagnosis.replication_lag(timezone.now())[0] == OK


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


def test_a_commit_that_waits_for_a_lost_standby_does_not_hold_the_doctor_up(
    server: Cluster, tmp_path: Path
) -> None:
    """What it found is printed, although nothing can be stored."""
    fresh = Cluster(server.bindir, synchronous_commit="on")
    try:
        environment = sandbox(fresh.url, tmp_path) | {"DATABASE_STANDBYS": "1"}
        migrating = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
        subprocess.run(migrating, cwd=ROOT, env=environment, check=True, capture_output=True)
        with psycopg.connect(fresh.url, autocommit=True) as superuser:
            superuser.execute("ALTER SYSTEM SET synchronous_standby_names = 'lost'")
            superuser.execute("SELECT pg_reload_conf()")

        done = subprocess.run(
            [sys.executable, "manage.py", "doctor", "--json"],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )

        found = {each["check"]: each["state"] for each in json.loads(done.stdout)["checks"]}
        assert found["standby"] == "NOW"
    finally:
        fresh.stop()
