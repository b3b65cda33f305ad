"""A database belongs to one environment: production and a sandbox refuse each other's, in real processes."""

import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from django.db import OperationalError, ProgrammingError, connection, connections, transaction
from django.utils import timezone

from infra.checks import database_mark as mark_check
from infra.database import database_mark
from infra.models import DatabaseMark
from keys.models import SigningKey
from tests.own_databases import gunicorn, manage, own_database, production, reason, sandbox

REGISTER = (
    *("register_relying_party", "--name", "Shop", "--redirect-uri", "https://shop.example/callback"),
    *("--scope", "urn:service:params:scope:verifiable-credentials:basic"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="module")
def productions(folder: Path) -> Iterator[str]:
    """A database that production migrated."""
    with own_database() as url:
        migrated = manage(production(url, folder), "migrate", "--verbosity", "0")
        assert migrated.returncode == 0, migrated.stderr
        yield url


@pytest.fixture(scope="module")
def sandboxes(folder: Path) -> Iterator[str]:
    """A database that a sandbox migrated and uses."""
    with own_database() as url:
        prepared = manage(sandbox(url, folder), "sandbox", "--prepare-only")
        assert prepared.returncode == 0, prepared.stderr
        yield url


@pytest.fixture
def refusing_sandbox(productions: str, folder: Path) -> dict[str, str]:
    return sandbox(productions, folder)


@pytest.fixture
def refusing_production(sandboxes: str, folder: Path) -> dict[str, str]:
    return production(sandboxes, folder)


REFUSED = [("migrate",), ("clear_expired",), REGISTER]


@pytest.mark.postgresql
@pytest.mark.parametrize("words", [*REFUSED, ("sandbox", "--prepare-only")], ids=lambda words: words[0])
def test_no_command_of_a_sandbox_touches_the_database_of_production(
    refusing_sandbox: dict[str, str], words: tuple[str, ...]
) -> None:
    said = reason(manage(refusing_sandbox, *words))

    assert "database of the production environment, and ENVIRONMENT is sandbox" in said


@pytest.mark.postgresql
@pytest.mark.parametrize("words", REFUSED, ids=lambda words: words[0])
def test_no_command_of_production_touches_the_database_of_a_sandbox(
    refusing_production: dict[str, str], words: tuple[str, ...]
) -> None:
    said = reason(manage(refusing_production, *words))

    assert "database of the sandbox environment, and ENVIRONMENT is production" in said


@pytest.mark.postgresql
def test_the_web_server_of_either_does_not_start_on_the_others_database(
    refusing_sandbox: dict[str, str], refusing_production: dict[str, str]
) -> None:
    assert "of the production environment" in reason(gunicorn(refusing_sandbox))
    assert "of the sandbox environment" in reason(gunicorn(refusing_production))


@pytest.mark.postgresql
def test_the_deployment_check_names_the_foreign_database(refusing_production: dict[str, str]) -> None:
    checked = manage(refusing_production, "check", "--deploy")

    assert checked.returncode != 0
    assert "infra.E001" in checked.stderr


@pytest.mark.postgresql
def test_each_environment_goes_on_with_its_own_database(
    productions: str, sandboxes: str, folder: Path
) -> None:
    for environment in (production(productions, folder), sandbox(sandboxes, folder)):
        assert manage(environment, "migrate", "--verbosity", "0").returncode == 0
        assert manage(environment, "clear_expired").returncode == 0


def test_a_marked_sqlite_file_is_refused_as_well(tmp_path: Path) -> None:
    """Production refuses SQLite, so the test writes its mark itself."""
    file = tmp_path / "some.sqlite3"
    environment = sandbox(f"sqlite:///{file}", tmp_path)
    assert manage(environment, "migrate", "--verbosity", "0").returncode == 0
    with closing(sqlite3.connect(file)) as database, database:
        assert database.execute("SELECT environment FROM keys_databasemark").fetchall() == [("sandbox",)]
        database.execute("UPDATE keys_databasemark SET environment = 'production'")

    for words in REFUSED[:2]:
        assert "of the production environment" in reason(manage(environment, *words))
    assert "of the production environment" in reason(gunicorn(environment))
    refused = manage(production(f"sqlite:///{file}", tmp_path), "migrate")
    assert "DATABASE_URL must name a PostgreSQL database" in reason(refused)


# --- In one process ---------------------------------------------------------------------------------------


@pytest.fixture
def foreign(db: None, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The database belongs to the other environment, and this process has not compared it yet."""
    monkeypatch.setattr(database_mark, "_compared", set())
    settings.DATABASE_MARK = "production"
    DatabaseMark.objects.all().delete()
    DatabaseMark.objects.create(environment="sandbox", marked_at=timezone.now())


def test_a_process_compares_once_and_not_with_each_connection(db: None, statements: Any) -> None:
    database_mark.write(None, "default")
    database_mark.compare(connection)

    with statements() as asked:
        database_mark.compare_first_connection(None, connection)

    assert asked.texts == []


@pytest.mark.usefixtures("foreign")
def test_the_deployment_check_finds_it_and_says_nothing_of_a_database_that_fits(settings: Any) -> None:
    assert [error.id for error in mark_check(None)] == ["infra.E001"]
    settings.DATABASE_MARK = "sandbox"
    assert mark_check(None) == []


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_a_connection_to_a_foreign_database_is_closed_and_so_is_the_next(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    database_mark.write(None, "default")
    monkeypatch.setattr(database_mark, "_compared", set())
    settings.DATABASE_MARK = "production"
    connections.close_all()
    try:
        for _attempt in range(2):
            with pytest.raises(database_mark.ForeignDatabaseError):
                DatabaseMark.objects.count()
            assert connection.connection is None
    finally:
        settings.DATABASE_MARK = "sandbox"


# --- A database whose mark cannot be read ------------------------------------------------------------------


@pytest.fixture
def powerless_role(transactional_db: None) -> Iterator[str]:
    """A role of the database that may read no table."""
    name = f"stranger_{secrets.token_hex(4)}"
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE ROLE {name}")
    yield name
    with connection.cursor() as cursor:
        cursor.execute(f"DROP ROLE {name}")


@pytest.fixture
def opened_with(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A function that opens new connections with these server settings; no mark is compared yet."""
    database_mark.write(None, "default")
    monkeypatch.setattr(database_mark, "_compared", set())
    with monkeypatch.context() as changed:

        def opened_with(options: str) -> None:
            changed.setitem(connection.settings_dict["OPTIONS"], "options", options)
            connections.close_all()

        yield opened_with
    connections.close_all()


@contextmanager
def locked(table: str) -> Iterator[None]:
    url = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{connection.settings_dict['NAME']}")
    with psycopg.connect(url.geturl()) as other:
        other.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        yield
        other.rollback()


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_a_connection_whose_comparison_is_cut_off_is_closed_and_the_next_one_compares(
    opened_with: Any, settings: Any
) -> None:
    opened_with("-c statement_timeout=1s")  # in which a busy machine, too, compares
    settings.DATABASE_MARK = "production"
    with locked("keys_databasemark"):
        for _attempt in range(2):
            with pytest.raises(OperationalError, match="statement timeout"):
                SigningKey.objects.count()
            assert connection.connection is None

    with pytest.raises(database_mark.ForeignDatabaseError):
        SigningKey.objects.count()
    settings.DATABASE_MARK = "sandbox"
    assert SigningKey.objects.count() == 0


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_a_role_that_may_not_read_the_mark_gets_no_connection(powerless_role: str, opened_with: Any) -> None:
    opened_with(f"-c role={powerless_role}")
    with pytest.raises(ProgrammingError, match="permission denied for table keys_databasemark"):
        connection.ensure_connection()

    assert connection.connection is None
    opened_with("")
    assert DatabaseMark.objects.count() == 1


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_the_deployment_check_names_a_mark_that_cannot_be_read(powerless_role: str) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL ROLE {powerless_role}")
        (error,) = mark_check(None)

    assert error.id == "infra.E002"
    assert "permission denied" in error.msg


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_a_database_without_the_table_is_used_and_compared_again_once_it_has_one(
    opened_with: Any, settings: Any
) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE keys_databasemark RENAME TO put_aside")
    opened_with("")
    settings.DATABASE_MARK = "production"
    try:
        assert SigningKey.objects.count() == 0
        assert [message.id for message in mark_check(None)] == ["infra.I003"]
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE put_aside RENAME TO keys_databasemark")

    connections.close_all()
    with pytest.raises(database_mark.ForeignDatabaseError):
        SigningKey.objects.count()
    settings.DATABASE_MARK = "sandbox"


def test_on_sqlite_only_a_missing_table_counts_as_no_mark_yet(tmp_path: Path) -> None:
    file = tmp_path / "some.sqlite3"
    environment = sandbox(f"sqlite:///{file}", tmp_path)
    assert manage(environment, "migrate", "--verbosity", "0").returncode == 0

    with closing(sqlite3.connect(file)) as database, database:
        database.execute("ALTER TABLE keys_databasemark RENAME COLUMN environment TO something_else")
    unreadable = manage(environment, "list_signing_keys")
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("DROP TABLE keys_databasemark")
    missing = manage(environment, "list_signing_keys")

    assert unreadable.returncode != 0
    assert "no such column: keys_databasemark.environment" in unreadable.stderr
    assert missing.returncode == 0, missing.stderr


def test_flushing_a_database_leaves_it_to_its_environment(transactional_db: None) -> None:
    from django.core.management import call_command

    call_command("flush", interactive=False, verbosity=0)

    assert DatabaseMark.objects.get().environment == "sandbox"
