"""Drills with the database: it is killed, it hangs, its standby takes over or is away."""

import contextlib
from collections.abc import Iterator
from time import sleep

import psycopg

from tests.pgcluster import Cluster, binaries
from tests.ports import free_port
from tools.drills.drill import Watch, under_load
from tools.drills.place import Installation, Place, database, installation
from tools.drills.results import Result
from tools.drills.standby import Standby, fence

AWAY = 2.0  # seconds that the database is away, besides its start
HUNG = 12.0  # longer than DATABASE_ANSWER_TIMEOUT


def killed(place: Place) -> Iterator[Result]:
    """Kills PostgreSQL and starts it again. Pages answer one second after it does."""
    with installation(place) as where, under_load(where) as watch:
        watch.fault()
        place.cluster.kill()
        sleep(AWAY)
        place.cluster.start()
        watch.mended()
    result = Result("kill -9 of the database, away for two seconds", watch.counted())
    _back(result, watch)
    yield result


def _back(result: Result, watch: Watch) -> None:
    after = watch.back_after()
    result.target(after <= 1.0, f"first answer {after:.1f} s after the database was back")


def hung(place: Place) -> Iterator[Result]:
    """Stops all processes of PostgreSQL (SIGSTOP), so that it accepts connections and answers nothing."""
    with installation(place) as where, under_load(where) as watch:
        watch.fault()
        with place.cluster.hanging():
            sleep(HUNG)
        watch.mended()
    result = Result(f"the database hangs for {HUNG:.0f} seconds", watch.counted())
    _back(result, watch)
    yield result


@contextlib.contextmanager
def _pair(place: Place) -> Iterator[tuple[Installation, Cluster, Standby]]:
    """An installation on a primary and its synchronous standby, both named in DATABASE_URL."""
    bindir, ports = binaries(), (free_port(), free_port())
    assert bindir
    with contextlib.ExitStack() as stack:
        tcp = {"listen_addresses": "127.0.0.1", "synchronous_commit": "on"}
        primary = Cluster(bindir, port=str(ports[0]), **tcp)
        stack.callback(primary.stop)
        facts = place.fill(primary, "service")
        standby = Standby(bindir, primary, port=str(ports[1]), listen_addresses="127.0.0.1")
        stack.callback(standby.stop)
        hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
        url = f"postgresql://postgres@{hosts}/service?target_session_attrs=read-write&connect_timeout=2"
        where = stack.enter_context(installation(place, url=url, facts=facts))
        yield where, primary, standby


def promoted(place: Place) -> Iterator[Result]:
    """Kills the primary, promotes its synchronous standby, and starts the old primary again by mistake."""
    with _pair(place) as (where, primary, standby), under_load(where) as watch:
        watch.fault()
        primary.kill()
        sleep(1)
        standby.promote()
        watch.mended()
        fence(primary)
        watch.crowd.wait_for(10)
        primary.start()
    result = Result(
        "the primary is killed, its synchronous standby promoted after one second", watch.counted()
    )
    _back(result, watch)
    yield result


def standby_away(place: Place) -> Iterator[Result]:
    """Kills the synchronous standby: each COMMIT waits until an operator says that it need not."""
    with _pair(place) as (where, primary, standby), under_load(where) as watch:
        standby.kill()
        watch.fault()
        sleep(4)
        _cancel_all(primary)
        sleep(1)
        alone = watch.answers()
        with psycopg.connect(primary.url, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET synchronous_standby_names = ''")
            connection.execute("SELECT pg_reload_conf()")
        watch.mended()
    result = Result(
        "the synchronous standby is killed; after five seconds nobody waits for it", watch.counted()
    )
    _back(result, watch)
    result.target(alone == 0, f"{alone} answers left that only the primary had stored")
    yield result


def _cancel_all(primary: Cluster) -> None:
    """What an operator in a hurry does: cancels the waits. PostgreSQL then reports the COMMIT as done."""
    with psycopg.connect(database(primary.url, "service"), autocommit=True) as connection:
        connection.execute("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
