"""A connection that the server has closed is not used again, and nobody waits for finding that out."""

from collections.abc import Iterator
from typing import Any
from weakref import ref

import psycopg
import pytest
from django.core.signals import request_finished, request_started
from django.db import OperationalError, ProgrammingError, connection
from django.test import Client

from infra.database import internals
from infra.database.kept_connections import close_dead_connections, drop_cursors, kept_cursor
from tests.infra.django_versions import either_django  # noqa: F401
from wallet.models import Wallet

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def hung_up() -> Iterator[None]:
    """The server has ended this thread's connection, as it does when it restarts."""
    connection.ensure_connection()
    raw: Any = connection.connection
    with psycopg.connect(raw.info.dsn) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", [raw.info.backend_pid])
    yield
    connection.close()


@pytest.mark.usefixtures("hung_up")
def test_a_connection_that_was_closed_by_the_server_does_not_work() -> None:
    with pytest.raises(OperationalError):
        Wallet.objects.count()


@pytest.mark.usefixtures("hung_up", "either_django")
def test_it_is_replaced_before_it_is_used() -> None:
    close_dead_connections()

    assert Wallet.objects.count() == 0


@pytest.mark.usefixtures("hung_up")
def test_no_request_meets_it_once_the_application_is_loaded() -> None:
    import config.wsgi

    assert close_dead_connections in [receiver() for _, receiver, *_ in request_started.receivers]
    assert config.wsgi.application is not None
    response = Client(raise_request_exception=False).get("/.well-known/openid-configuration")
    assert response.status_code == 200
    assert Wallet.objects.count() == 0


@pytest.mark.usefixtures("either_django")
def test_a_connection_that_lives_is_kept_without_asking_the_server(statements: Any) -> None:
    connection.ensure_connection()
    kept = connection.connection
    with statements() as asked:
        close_dead_connections()
    assert asked.texts == []
    assert connection.connection is kept


@pytest.mark.usefixtures("either_django")
def test_a_connection_with_news_that_still_works_is_kept() -> None:
    with connection.cursor() as cursor:
        cursor.execute("LISTEN somebody")
    kept: Any = connection.connection
    with psycopg.connect(kept.info.dsn, autocommit=True) as other:
        other.execute("NOTIFY somebody")

    close_dead_connections()

    assert connection.connection is kept
    assert Wallet.objects.count() == 0


def test_statements_of_a_request_share_a_cursor_and_the_next_request_has_another() -> None:
    first = kept_cursor(connection)
    assert kept_cursor(connection) is first

    drop_cursors()

    assert kept_cursor(connection) is not first


def test_with_an_untried_django_every_statement_has_a_cursor_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(internals, "ARE_TRIED", False)
    first = kept_cursor(connection)
    assert kept_cursor(connection) is not first
    assert "_kept_cursor" not in vars(connection)


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
