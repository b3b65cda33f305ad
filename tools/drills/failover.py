"""Drills under Patroni: a switchover; a machine, a standby and etcd are away. They take four minutes."""

import contextlib
import signal
import time
from collections.abc import Iterator
from threading import Event, Thread

import psycopg

from tools.drills.drill import Watch, under_load
from tools.drills.patroni import Patroni, cluster, until
from tools.drills.place import Installation, Place, database, installation
from tools.drills.results import Result

ETCD_AWAY = 30.0  # longer than ttl, so that the primary's lease ends
STANDBY_AWAY = 25.0  # longer than ttl
SETTLES = 10.0  # seconds in which a late failover would show
PROMOTION = 2.0  # seconds that may pass besides ttl until the first write


def failover(place: Place) -> Iterator[Result]:
    """Switches over under Patroni, then takes a standby, etcd and the primary away, all from one cluster.

    One result for each fault. A server that was killed is started again.
    """
    with cluster(place.cluster) as servers:
        facts = place.fill(servers, "service")
        with installation(place, url=database(servers.url, "service"), facts=facts) as where:
            for fault in (_switched, _standby_killed, _etcd_away, _primary_killed):
                yield fault(servers, where)


def _switched(servers: Patroni, where: Installation) -> Result:
    with _watched(servers, where) as (watch, writes):
        servers.switch_over()
        writes.wait()
    return _taken_over("Patroni: `patronictl switchover`", servers, watch, writes)


def _primary_killed(servers: Patroni, where: Installation) -> Result:
    with _watched(servers, where) as (watch, writes):
        victim = servers.member("leader")
        victim.lose()
        writes.wait()
    servers.restart(victim)
    servers.until_whole()  # the former primary follows
    return _taken_over("Patroni: the primary’s machine loses its power", servers, watch, writes)


def _standby_killed(servers: Patroni, where: Installation) -> Result:
    with _watched(servers, where) as (watch, writes):
        victim = servers.member("sync_standby")
        victim.lose()
        time.sleep(STANDBY_AWAY)
    servers.restart(victim)
    return _unnoticed("Patroni: the synchronous standby’s machine loses its power", watch, writes)


def _etcd_away(servers: Patroni, where: Installation) -> Result:
    with _watched(servers, where) as (watch, writes):
        servers.etcd.send_signal(signal.SIGSTOP)
        time.sleep(ETCD_AWAY)
        servers.etcd.send_signal(signal.SIGCONT)
        time.sleep(SETTLES)
    return _unnoticed(f"Patroni: etcd is away for {ETCD_AWAY:.0f} seconds", watch, writes)


@contextlib.contextmanager
def _watched(servers: Patroni, where: Installation) -> Iterator[tuple[Watch, "Writes"]]:
    servers.until_whole()
    with under_load(where) as watch, Writes(servers.url) as writes:
        writes.wait()
        watch.fault()
        yield watch, writes
        watch.mended()


def _taken_over(name: str, servers: Patroni, watch: Watch, writes: "Writes") -> Result:
    result, gap, limit = Result(name, watch.counted()), writes.gap(watch.began), servers.ttl + PROMOTION
    result.target(gap <= limit, f"{gap:.1f} s without a write, at most {limit:.0f} s allowed")
    result.said.append(f"longest time without any answer {watch.silence():.1f} s")
    return result


def _unnoticed(name: str, watch: Watch, writes: "Writes") -> Result:
    result = Result(name, watch.counted())
    result.untroubled()
    result.said.append(f"{writes.gap(watch.began):.1f} s without a write")
    return result


class Writes:
    """A client that writes ten times per second, each time by a new connection."""

    def __init__(self, url: str) -> None:
        self._url, self._over, self._moments = url, Event(), [time.monotonic()]
        self._thread = Thread(target=self._write, daemon=True)

    def _write(self) -> None:
        while not self._over.wait(0.1):
            with contextlib.suppress(psycopg.Error), psycopg.connect(self._url) as connection:
                connection.execute("CREATE TABLE IF NOT EXISTS mark (at timestamptz)")
                connection.execute("INSERT INTO mark VALUES (now())")
                connection.commit()
                self._moments.append(time.monotonic())

    def __enter__(self) -> "Writes":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def wait(self) -> None:
        """Waits for a write that began after this call."""
        before = len(self._moments)
        until(lambda: len(self._moments) > before + 1, "no write succeeds")

    def gap(self, since: float) -> float:
        """The longest time without a write since then, in seconds."""
        moments = [since, *(moment for moment in self._moments if moment > since)]
        return max(b - a for a, b in zip(moments, moments[1:], strict=False))
