"""Several instances migrate at once, as they do after a start: one migrates and the others wait."""

import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.management import call_command
from django.db import connection

from infra.management.commands.migrate import LOCK
from tests.own_databases import ROOT, own_database, production, sandbox
from tests.warm_start import LONGEST

AT_ONCE = 3
WAITS = "Another migrate is running on this database"


def started(environment: Mapping[str, str], *words: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "manage.py", "migrate", *words],
        cwd=ROOT,
        env=dict(environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def all_at_once(environment: Mapping[str, str]) -> list[str]:
    """The outputs of the processes, all of which succeed."""
    running = [started(environment, "--verbosity", "0") for _ in range(AT_ONCE)]
    ended = [(*one.communicate(timeout=LONGEST), one.returncode) for one in running]
    assert [status for _out, _err, status in ended] == [0] * AT_ONCE, ended
    return [out for out, _err, _status in ended]


ADVISORY_LOCKS = (
    "SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = database"
    " WHERE locktype = 'advisory' AND datname = current_database()"
)
APPLIED = "SELECT app, name, count(*) FROM django_migrations GROUP BY app, name HAVING count(*) > 1"


@pytest.mark.postgresql
def test_first_migrations_at_the_same_time_all_succeed(tmp_path: Path) -> None:
    with own_database() as url:
        printed = all_at_once(production(url, tmp_path))

        with psycopg.connect(url) as database:
            assert database.execute(APPLIED).fetchall() == []
            assert database.execute("SELECT environment FROM keys_databasemark").fetchall() == [
                ("production",)
            ]
            held = database.execute(ADVISORY_LOCKS).fetchone()
            assert held == (0,)
    assert any(WAITS in out for out in printed)


def test_first_migrations_of_a_sandbox_on_one_file_all_succeed(tmp_path: Path) -> None:
    printed = all_at_once(sandbox(f"sqlite:///{tmp_path / 'new.sqlite3'}", tmp_path))

    with closing(sqlite3.connect(tmp_path / "new.sqlite3")) as database:
        assert database.execute(APPLIED).fetchall() == []
    assert any(WAITS in out for out in printed)


@pytest.mark.postgresql
def test_it_says_that_it_waits_and_goes_on_when_the_other_is_killed(tmp_path: Path) -> None:
    with own_database() as url:
        with psycopg.connect(url, autocommit=True) as other:
            other.execute("SELECT pg_advisory_lock(%s)", [LOCK])
            waiting = started(production(url, tmp_path), "--verbosity", "0")
            assert waiting.stdout
            assert WAITS in waiting.stdout.readline()
            with psycopg.connect(url) as third:
                assert third.execute("SELECT to_regclass('django_migrations')").fetchone() == (None,)
            assert waiting.poll() is None
        _out, err = waiting.communicate(timeout=LONGEST)

        assert (waiting.returncode, err) == (0, "")


@pytest.mark.postgresql
def test_limits_of_statements_and_locks_do_not_end_the_wait_or_a_long_migration(db: None) -> None:
    seen = []

    def look(execute: Any, sql: str, *rest: Any) -> Any:
        result = execute(sql, *rest)
        if "django_migrations" in sql and not seen:
            with connection.cursor() as cursor:
                seen.append("")
                cursor.execute("SELECT current_setting('statement_timeout')")
                seen.append(cursor.fetchone()[0])
        return result

    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = '7s'")
        with connection.execute_wrapper(look):
            call_command("migrate", verbosity=0)
        cursor.execute("SELECT current_setting('statement_timeout')")
        after = cursor.fetchone()[0]
        cursor.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()")
        held = cursor.fetchone()[0]

    assert (seen[1], after, held) == ("0", "7s", 0)


@pytest.mark.django_db
def test_a_migration_that_fails_gives_the_lock_back() -> None:
    for _attempt in range(2):
        with pytest.raises(Exception, match="nowhere"):
            call_command("migrate", "nowhere", verbosity=0)

    call_command("migrate", verbosity=0)


@pytest.mark.postgresql
def test_it_refuses_a_pooler_that_would_lose_its_lock(tmp_path: Path) -> None:
    with own_database() as url:
        refused = started(production(url, tmp_path) | {"DATABASE_POOLER": "transaction"})
        _out, err = refused.communicate(timeout=LONGEST)

        assert refused.returncode != 0
        assert "Set DATABASE_URL to PostgreSQL itself" in err
        with psycopg.connect(url) as database:
            assert database.execute("SELECT to_regclass('django_migrations')").fetchone() == (None,)
        directly = started(production(url, tmp_path), "--verbosity", "0")
        assert directly.communicate(timeout=LONGEST) == ("", "")
        again = started(production(url, tmp_path) | {"DATABASE_POOLER": "transaction"})
        assert (again.communicate(timeout=LONGEST)[0], again.returncode) == ("Nothing to migrate.\n", 0)
