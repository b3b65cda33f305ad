"""Every wait for the database ends, for every kind of statement, and one thread is always left."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from errno import EMFILE
from resource import RLIMIT_NOFILE, getrlimit, setrlimit
from socket import create_server
from threading import BoundedSemaphore, Event, Thread, current_thread
from time import sleep
from typing import Any

import psycopg
import pytest
from django.db import OperationalError, close_old_connections, connection, transaction

from infra.database import hung_database
from infra.database.hung_database import BoundedConnection, bounded
from infra.database.outages import means_away
from infra.database.postgresql import driver
from wallet.models import Wallet

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db(transaction=True)]
SILENCE = "SELECT pg_sleep(4)"  # to the client this looks like a server that does not answer


@pytest.fixture(autouse=True)
def _its_own_state(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(hung_database, "_long_waits", BoundedSemaphore(3))
    yield
    eventually(lambda: not hung_database._probing)
    hung_database.end()
    connection.close()


def eventually(found: Callable[[], bool]) -> None:
    for _ in range(200):
        if found():
            return
        sleep(0.05)
    raise AssertionError("the probe of the database found nothing else")


def ask(sql: str = SILENCE) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


def test_a_statement_without_an_answer_is_given_up_and_the_next_request_has_another_connection() -> None:
    with bounded(0.3), pytest.raises(OperationalError) as caught:
        ask()
    assert means_away(caught.value)

    close_old_connections()  # as Django does after each request

    assert Wallet.objects.count() == 0


def test_a_transaction_that_is_given_up_leaves_nothing_behind() -> None:
    def work() -> None:
        with transaction.atomic():
            ask("CREATE TABLE half_done (id int)")
            ask()

    with bounded(0.3), pytest.raises(OperationalError):
        work()
    close_old_connections()

    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('half_done')")
        assert cursor.fetchone() == (None,)


def test_without_a_bound_an_answer_is_awaited_as_long_as_it_takes() -> None:
    with bounded(1):
        assert Wallet.objects.count() == 0
    ask("SELECT pg_sleep(1.5)")


def test_an_answer_within_the_bound_is_given() -> None:
    with bounded(20):
        ask("SELECT pg_sleep(2.3)")


def test_a_bound_within_another_does_not_make_it_longer() -> None:
    with bounded(0.3), pytest.raises(OperationalError), bounded(20):
        ask()


def test_a_commit_without_an_answer_is_given_up_too() -> None:
    """A deferred trigger that makes COMMIT itself wait."""
    ask("CREATE TABLE slow (id int)")
    try:
        ask(
            "CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS "
            "'BEGIN PERFORM pg_sleep(4); RETURN NULL; END'"
        )
        ask(
            "CREATE CONSTRAINT TRIGGER waits AFTER INSERT ON slow DEFERRABLE INITIALLY DEFERRED "
            "FOR EACH ROW EXECUTE FUNCTION wait()"
        )
        with bounded(0.3), pytest.raises(OperationalError), transaction.atomic():
            ask("INSERT INTO slow VALUES (1)")
    finally:
        connection.close()
        ask("DROP TABLE slow CASCADE")  # waits until the server has finished
        ask("DROP FUNCTION wait")


def test_of_several_threads_that_wait_one_is_cut_off_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hung_database, "_long_waits", BoundedSemaphore(2))
    done = Event()

    def waits(_: int) -> str:
        try:
            with bounded(30):
                ask("SELECT pg_sleep(3.5)")
            return "answered"
        except OperationalError:
            return "answered by others first" if done.is_set() else "cut off"
        finally:
            done.set()
            connection.close()

    with ThreadPoolExecutor(3) as pool:
        assert sorted(pool.map(waits, range(3))) == ["answered", "answered", "cut off"]


def test_while_all_other_threads_connect_a_further_one_waits_for_a_moment_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connection.close()
    long_waits = BoundedSemaphore(1)
    monkeypatch.setattr(hung_database, "_long_waits", long_waits)
    with long_waits, bounded(30), pytest.raises(OperationalError):
        ask()
    assert Wallet.objects.count() == 0


def test_while_the_database_does_not_answer_everything_fails_at_once_and_then_works_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lives = Event()
    truly = hung_database._answers
    monkeypatch.setattr(hung_database, "PROBE_INTERVAL", 0.05)
    monkeypatch.setattr(hung_database, "_answers", lambda params: lives.is_set() and truly(params))
    with bounded(0.3), pytest.raises(OperationalError):
        ask()
    eventually(lambda: hung_database._is_hung)
    close_old_connections()
    with bounded(30):
        for _again in range(3):
            with pytest.raises(OperationalError, match="did not answer"):
                ask()
            close_old_connections()

    lives.set()
    eventually(lambda: not hung_database._is_hung)

    with bounded(30):
        assert Wallet.objects.count() == 0


def test_a_connection_of_a_request_has_the_limits_and_what_the_address_says_wins(settings: Any) -> None:
    settings.DATABASE_LIMITS = "-c statement_timeout=5s -c lock_timeout=2s"
    connection.close()
    options = connection.settings_dict["OPTIONS"]
    connection.settings_dict["OPTIONS"] = options | {"options": "-c lock_timeout=7s"}
    try:
        with bounded(30), connection.cursor() as cursor:
            cursor.execute("SELECT current_setting('statement_timeout'), current_setting('lock_timeout')")
            assert cursor.fetchone() == ("5s", "7s")
    finally:
        connection.settings_dict["OPTIONS"] = options


@pytest.fixture
def hosts(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """DATABASE_URL names two hosts. Each try takes from the list whether one of them accepts writes."""
    accepts: list[bool] = []

    def connects(**params: Any) -> Any:
        if not accepts.pop(0):
            raise psycopg.OperationalError("session is read-only")
        return connect(**params | {"host": host})

    connection.close()
    connect, host = driver.connect, connection.get_connection_params().get("host")
    monkeypatch.setitem(connection.settings_dict, "HOST", "one,two")
    monkeypatch.setattr(driver, "connect", connects)
    yield accepts
    connection.close()
    hung_database._away_since = 0.0


def test_while_one_host_takes_over_from_another_a_request_waits(hosts: list[bool]) -> None:
    hosts += [False, False, True]
    with bounded(30):
        ask("SELECT 1")
    assert hosts == []


def test_when_no_host_takes_over_requests_fail_and_later_ones_at_once(
    hosts: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hung_database, "TAKEOVER", 0.25)
    hosts += [False] * 20
    with bounded(30), pytest.raises(OperationalError):
        ask("SELECT 1")
    assert len(hosts) < 19
    hosts[:] = [False, True, False, True]
    with bounded(30), pytest.raises(OperationalError):
        ask("SELECT 1")
    with bounded(30):
        ask("SELECT 1")
        connection.close()
        ask("SELECT 1")  # it waits again


def test_a_server_that_takes_no_connection_is_given_up_after_the_timeout(monkeypatch: Any) -> None:
    def times_out(**params: Any) -> None:
        raise psycopg.errors.ConnectionTimeout("connection timeout expired")

    connection.close()
    monkeypatch.setattr(driver, "connect", times_out)
    with bounded(30), pytest.raises(OperationalError) as caught:
        ask()
    assert means_away(caught.value)


def test_a_probe_that_fails_in_an_unexpected_way_is_repeated_and_the_database_is_used_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As if no file descriptor were free."""
    connect, failures = BoundedConnection.connect, [OSError(EMFILE, "Too many open files")]

    def connects(*args: Any, **facts: Any) -> Any:
        if failures and current_thread().name == "database-probe":
            raise failures.pop()
        return connect(*args, **facts)

    monkeypatch.setattr(hung_database, "PROBE_INTERVAL", 0.05)
    monkeypatch.setattr(BoundedConnection, "connect", connects)
    with bounded(0.3), pytest.raises(OperationalError):
        ask()
    eventually(lambda: not hung_database._probing)
    close_old_connections()

    assert not failures
    with bounded(30):
        assert Wallet.objects.count() == 0


def test_where_no_file_descriptor_is_free_a_wait_ends_all_the_same_and_then_the_database_is_used_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hung_database, "PROBE_INTERVAL", 0.05)
    ask("SELECT 1")
    most, hard = getrlimit(RLIMIT_NOFILE)
    try:
        setrlimit(RLIMIT_NOFILE, (3, hard))
        with bounded(0.3), suppress(OperationalError):
            ask()
    finally:
        setrlimit(RLIMIT_NOFILE, (most, hard))
    assert connection.connection.broken
    eventually(lambda: not hung_database._probing)
    close_old_connections()

    with bounded(30):
        assert Wallet.objects.count() == 0


@pytest.mark.parametrize("broken", ["thread", "parameters"])
def test_a_probe_that_cannot_be_started_is_tried_again_at_the_next_wait(
    monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    def fails(*args: Any) -> None:
        raise RuntimeError("can't start new thread")

    ask("SELECT 1")
    with monkeypatch.context() as patched:
        if broken == "thread":
            patched.setattr(Thread, "start", fails)
        else:
            patched.setattr(connection, "get_connection_params", fails)
        with bounded(0.3), pytest.raises(OperationalError):
            ask()
    assert not hung_database._probing
    close_old_connections()

    probed = Event()
    monkeypatch.setattr(hung_database, "_answers", lambda params: probed.set() or True)
    with bounded(0.3), pytest.raises(OperationalError):
        ask()
    assert probed.wait(10)


def test_a_server_that_has_no_connection_left_answers_all_the_same() -> None:
    params = connection.get_connection_params()
    ask("CREATE ROLE crowded LOGIN CONNECTION LIMIT 1 PASSWORD 'secret'")
    try:
        crowded = params | {"user": "crowded", "password": "secret"}
        with psycopg.connect(**crowded):
            with pytest.raises(psycopg.OperationalError, match="too many connections"):
                psycopg.connect(**crowded)
            assert hung_database._answers(crowded)
    finally:
        ask("DROP ROLE crowded")


def test_a_server_that_accepts_connections_and_says_nothing_does_not_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hung_database, "PROBE_TIMEOUT", 2)
    with create_server(("127.0.0.1", 0)) as silent:
        host, port = silent.getsockname()
        assert not hung_database._answers(connection.get_connection_params() | {"host": host, "port": port})
