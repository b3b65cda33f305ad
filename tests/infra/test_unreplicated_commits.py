"""A COMMIT whose wait for the synchronous standby was canceled is not taken as done. With real servers."""

import threading
import time
from collections.abc import Callable, Iterator

import psycopg
import pytest

from infra.database.hung_database import BoundedConnection
from tests.pgcluster import Cluster, binaries
from tools.drills.standby import Standby

pytestmark = [pytest.mark.postgresql, pytest.mark.slow]


@pytest.fixture(scope="module")
def alone() -> Iterator[Cluster]:
    """A primary whose synchronous standby is gone."""
    bindir = binaries()
    if bindir is None:
        pytest.skip("could not run without PostgreSQL's programs")
    primary = Cluster(bindir, synchronous_commit="on")
    try:
        with psycopg.connect(primary.url, autocommit=True) as connection:
            connection.execute("CREATE TABLE answers (number int)")
        Standby(bindir, primary).stop()
        yield primary
    finally:
        primary.stop()


def in_autocommit(raw: psycopg.Connection) -> None:
    raw.autocommit = True
    raw.execute("INSERT INTO answers VALUES (1)")


def in_a_transaction(raw: psycopg.Connection) -> None:
    raw.execute("INSERT INTO answers VALUES (1)")
    raw.commit()


@pytest.mark.parametrize("write", [in_autocommit, in_a_transaction])
def test_a_commit_whose_wait_for_the_standby_was_canceled_is_an_error(
    alone: Cluster, write: Callable[[psycopg.Connection], None]
) -> None:
    raw = BoundedConnection.connect(alone.url)
    canceling = threading.Thread(target=cancel, args=(alone, raw.info.backend_pid))
    canceling.start()

    with raw, pytest.raises(psycopg.OperationalError, match="not known to have reached the standby"):
        write(raw)

    canceling.join()


def test_without_the_check_it_would_count_as_done(alone: Cluster) -> None:
    raw = psycopg.connect(alone.url)
    canceling = threading.Thread(target=cancel, args=(alone, raw.info.backend_pid))
    canceling.start()

    with raw:
        in_autocommit(raw)

    canceling.join()


def test_the_connection_goes_on_after_it(alone: Cluster) -> None:
    raw = BoundedConnection.connect(alone.url, autocommit=True)
    canceling = threading.Thread(target=cancel, args=(alone, raw.info.backend_pid))
    canceling.start()
    with raw:
        with pytest.raises(psycopg.OperationalError):
            in_autocommit(raw)
        assert raw.execute("SELECT 1").fetchone() == (1,)
    canceling.join()


def cancel(server: Cluster, backend: int) -> None:
    """Cancels the COMMIT of this connection as soon as it waits for the standby."""
    with psycopg.connect(server.url, autocommit=True) as connection:
        for _ in range(3000):
            waits = "pid = %s AND wait_event = 'SyncRep'"
            asked = f"SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE {waits}"
            if connection.execute(asked, [backend]).fetchone():
                return
            time.sleep(0.01)
