"""The errors that mean that the database is away, and those that are mistakes in the code."""

import sqlite3
from typing import Any

import pytest
from django.db import DatabaseError, IntegrityError, InterfaceError, OperationalError, connection, transaction

from infra.database.outages import means_away, means_no_table
from keys.models import SigningKey


def failed(sql: str) -> DatabaseError:
    with pytest.raises(DatabaseError) as caught, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql)
    return caught.value


@pytest.mark.django_db
@pytest.mark.parametrize("sql", ["SELECT * FROM nowhere", "SELECT nonsense", "SELEC"])
def test_a_mistake_in_a_statement_is_not_an_outage(sql: str) -> None:
    assert not means_away(failed(sql))


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("sql", "missing"),
    [("SELECT * FROM nowhere", True), ("SELECT nonsense FROM keys_signingkey", False), ("SELEC", False)],
)
def test_a_missing_table_is_distinguished_from_other_mistakes(sql: str, missing: bool) -> None:
    assert means_no_table(failed(sql)) == missing


@pytest.mark.django_db
def test_a_broken_constraint_is_not_an_outage(signing_key: SigningKey) -> None:
    signing_key.store = "nowhere"
    with pytest.raises(IntegrityError) as caught, transaction.atomic():
        SigningKey.objects.bulk_create([signing_key])
    assert not means_away(caught.value)


@pytest.mark.parametrize("error", [None, ValueError(), OSError("connection refused"), KeyError()])
def test_what_no_database_said_is_not_an_outage(error: Exception | None) -> None:
    assert not means_away(error)


@pytest.mark.postgresql
@pytest.mark.django_db
def test_a_statement_that_took_too_long_and_a_standby_that_only_reads_are_outages() -> None:
    assert means_away(failed("SET LOCAL statement_timeout = 1; SELECT pg_sleep(5)"))
    assert means_away(failed("SET LOCAL transaction_read_only = on; CREATE TABLE nothing (id int)"))


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_a_connection_that_was_ended_is_an_outage_at_each_of_its_uses() -> None:
    connection.ensure_connection()
    raw: Any = connection.connection
    try:
        raw.close()
        assert means_away(failed("SELECT 1"))
    finally:
        connection.close()
    assert means_away(InterfaceError("connection already closed"))
    assert means_away(OperationalError("connection refused"))


def test_a_locked_sqlite_file_is_an_outage_and_a_missing_table_is_not(tmp_path: Any) -> None:
    with sqlite3.connect(tmp_path / "file", isolation_level=None) as first:
        first.execute("BEGIN EXCLUSIVE")
        second = sqlite3.connect(tmp_path / "file", timeout=0)
        with pytest.raises(sqlite3.OperationalError) as locked:
            second.execute("SELECT * FROM nowhere")
        second.close()
        with pytest.raises(sqlite3.OperationalError) as missing:
            first.execute("SELECT * FROM nowhere")
    first.close()
    assert means_away(as_django_raises_it(locked.value))
    assert not means_away(as_django_raises_it(missing.value))


def as_django_raises_it(driver: Exception) -> OperationalError:
    error = OperationalError(*driver.args)
    error.__cause__ = driver
    return error
