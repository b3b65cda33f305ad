"""The statements of a request share a cursor, which works like Django's and is dropped after the request."""

from typing import Any
from weakref import ref

import pytest
from django.core.signals import request_finished
from django.db import DEFAULT_DB_ALIAS, ProgrammingError, connection, connections

from infra.database.kept_connections import drop_cursor, kept_cursor
from wallet.models import Wallet

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db(transaction=True)]


def test_statements_of_a_request_share_a_cursor_and_the_next_request_has_another() -> None:
    first = kept_cursor(connection)
    assert kept_cursor(connection) is first

    drop_cursor(connections[DEFAULT_DB_ALIAS])

    assert kept_cursor(connection) is not first


def test_nothing_that_was_asked_or_read_outlives_the_request() -> None:
    import config.wsgi

    assert config.wsgi.application is not None
    cursor = kept_cursor(connection)
    cursor.execute("SELECT %s", ["alice@example.org"])
    assert cursor.fetchall() == [("alice@example.org",)]
    gone = ref(cursor.cursor)
    del cursor

    request_finished.send(sender=None)

    assert gone() is None


def test_a_cursor_is_not_used_on_another_connection() -> None:
    first = kept_cursor(connection)
    connection.close()

    kept_cursor(connection).execute("SELECT 1")

    assert kept_cursor(connection) is not first


def test_times_are_read_as_django_reads_them(alice: Wallet) -> None:
    times = "SELECT created_at, NULL::timestamptz FROM wallet_wallet"
    with connection.cursor() as djangos:
        expected = djangos.execute(times) and djangos.fetchall()
    given = kept_cursor(connection).execute(times) and kept_cursor(connection).fetchall()

    assert given == expected
    assert given[0][0].isoformat() == alice.created_at.isoformat()


def test_a_failed_statement_does_not_spoil_the_cursor_for_the_next() -> None:
    with pytest.raises(ProgrammingError):
        kept_cursor(connection).execute("SELECT nonsense")

    assert kept_cursor(connection).execute("SELECT 1").fetchall() == [(1,)]


def test_statements_are_still_seen_where_they_are_counted(django_assert_num_queries: Any) -> None:
    kept_cursor(connection).execute("SELECT 1")
    with django_assert_num_queries(1):
        kept_cursor(connection).execute("SELECT 1")
