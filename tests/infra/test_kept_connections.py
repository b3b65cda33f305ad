"""A connection that the server has closed is not used again, and detecting that takes no query."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.core.signals import request_started
from django.db import OperationalError, connection
from django.test import Client

from infra.database.kept_connections import close_if_dead
from wallet.models import Wallet

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def hung_up() -> Iterator[None]:
    """The server closes this thread's connection, as it does when it restarts."""
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


@pytest.mark.usefixtures("hung_up")
def test_it_is_replaced_before_it_is_used() -> None:
    close_if_dead()

    assert Wallet.objects.count() == 0


@pytest.mark.usefixtures("hung_up")
def test_no_request_meets_it_once_the_application_is_loaded() -> None:
    import config.wsgi

    assert close_if_dead in [receiver() for _, receiver, *_ in request_started.receivers]
    assert config.wsgi.application is not None
    response = Client(raise_request_exception=False).get("/.well-known/openid-configuration")
    assert response.status_code == 200
    assert Wallet.objects.count() == 0


def test_a_connection_that_lives_is_kept_without_asking_the_server(statements: Any) -> None:
    connection.ensure_connection()
    kept = connection.connection
    with statements() as asked:
        close_if_dead()
    assert asked.texts == []
    assert connection.connection is kept


def test_a_connection_with_news_that_still_works_is_kept() -> None:
    with connection.cursor() as cursor:
        cursor.execute("LISTEN channel")
    kept: Any = connection.connection
    with psycopg.connect(kept.info.dsn, autocommit=True) as other:
        other.execute("NOTIFY channel")

    close_if_dead()

    assert connection.connection is kept
    assert Wallet.objects.count() == 0
