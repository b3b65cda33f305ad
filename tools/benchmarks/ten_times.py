"""Benchmark (i): an installation as for 10 times a load, on a database that years have filled.

Two instances as they ship, PgBouncer, PostgreSQL with a synchronous standby. docs/growth.md has the figures.
"""

import json
import os
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from pathlib import Path
from statistics import mean, quantiles
from threading import Event
from time import perf_counter

import psycopg

from tests.pgbouncer import pgbouncer
from tests.pgcluster import Cluster
from tools.benchmarks import clearing
from tools.benchmarks.flows import parallel_flows, service_holders
from tools.benchmarks.growth import fill
from tools.benchmarks.servers import Prepared, Work, servers
from tools.benchmarks.sites import Site, children, cpu_seconds, tree_seconds
from tools.benchmarks.table import Row
from tools.drills.standby import Standby

POOL = 10  # server connections, as docs/database.md has it
AT_ONCE = 4  # browsers at each instance
SLOW = 50  # milliseconds of a list page
BATCHES = 10  # of clearing, which is the rows of two hours at 10 times
BACKENDS = """
    SELECT pid FROM pg_stat_activity
    WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
"""
SIZES = """
    SELECT relname, pg_table_size(oid), pg_indexes_size(oid), reltuples FROM pg_class
    WHERE relname IN ('consent_consent', 'presentation_interaction', 'wallet_statusentry', 'wallet_wallet')
    ORDER BY relname
"""


@dataclass(frozen=True)
class Installation:
    """Two instances with their workers; `burst(n)` sends n flows, half of them to each."""

    where: Prepared  # with the address of the database itself, not of PgBouncer
    instances: tuple[Site, ...]

    def burst(self, size: int) -> None:
        with ThreadPoolExecutor(len(self.instances)) as pool:
            for done in [pool.submit(self._flows(site), size // 2) for site in self.instances]:
                done.result()

    def alone(self) -> float:
        """Seconds of one flow on a new connection."""
        began = perf_counter()
        parallel_flows(self.instances[0], service_holders(self.where)[:1], at_once=1)(1)
        return perf_counter() - began

    def cpu_seconds(self) -> float:
        return sum(cpu_seconds(worker) for site in self.instances for worker in children(site.process.pid))

    def database_seconds(self) -> float:
        """Of the connections of PgBouncer to this database, without autovacuum and checkpoints."""
        with psycopg.connect(self.where.environment["DATABASE_URL"]) as connection:
            return sum(cpu_seconds(pid) for (pid,) in connection.execute(BACKENDS).fetchall())

    def _flows(self, site: Site) -> Callable[[int], None]:
        return parallel_flows(site, service_holders(self.where), at_once=AT_ONCE)


def run(*, rows: int, bursts: int, size: int) -> list[Row]:
    """Fills one of two databases, puts the rest of the installation around both, and measures."""
    with servers(shared_buffers="2GB", max_wal_size="8GB") as where:
        with where.service.open() as service:  # what is copied
            parallel_flows(service, service_holders(where.service), at_once=1)(1)
        with where.copy_of_service("full") as full, ExitStack() as stack:
            seconds = fill(full.environment["DATABASE_URL"], rows)
            print(
                f"(i) {rows:,} rows of each kind were made in {seconds:,.0f} s", file=sys.stderr, flush=True
            )
            found = [*_sizes(full), *_lists(full)]
            standby = Standby(where.cluster._bindir, where.cluster, shared_buffers="512MB", fsync="on")
            stack.callback(_end, where.cluster, standby)
            pool = stack.enter_context(pgbouncer(where.cluster, size=POOL))
            grown, empty = (_opened(stack, site, pool) for site in (full, where.service))
            accounts = {"its standby": standby.process.pid, "PgBouncer": _pgbouncer()}
            found += _flows(grown, empty, accounts, rows, bursts=bursts, size=size)
            return [*found, *_connections(pool), *_clearing(grown, rows)]


def _end(primary: Cluster, standby: Standby) -> None:
    """COMMITs no longer wait, or what follows would for ever."""
    with psycopg.connect(primary.url, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET synchronous_standby_names = ''")
        connection.execute("SELECT pg_reload_conf()")
    standby.stop()


def _opened(stack: ExitStack, site: Prepared, pool: str) -> Installation:
    name = site.environment["DATABASE_URL"].partition("?")[0].rpartition("/")[2]
    pooled = {
        **site.environment,
        "DATABASE_URL": pool.replace("/postgres?", f"/{name}?"),
        "DATABASE_POOLER": "transaction",
        "WEB_CONCURRENCY": "2",
    }
    two = [stack.enter_context(replace(site, environment=pooled).open()) for _ in range(2)]
    return Installation(site, tuple(two))


def _pgbouncer() -> int:
    names = {pid: Path(f"/proc/{pid}/comm").read_text().strip() for pid in children(os.getpid())}
    return next(pid for pid, name in names.items() if name == "pgbouncer")


def _flows(
    grown: Installation,
    empty: Installation,
    accounts: Mapping[str, int],
    rows: int,
    *,
    bursts: int,
    size: int,
) -> Iterator[Row]:
    """CPU of each part for one flow on both databases, in alternating bursts, and what a million rows add."""
    spent: dict[tuple[str, int], list[float]] = defaultdict(list)
    both = (grown, empty)
    for number in range(bursts + 1):
        for which in (0, 1) if number % 2 else (1, 0):
            reads = {"service": both[which].cpu_seconds, "PostgreSQL": both[which].database_seconds}
            reads |= {name: partial(tree_seconds, pid) for name, pid in accounts.items()}
            before = {name: read() for name, read in reads.items()}
            both[which].burst(size)
            if number:  # the first warms up
                for name, read in reads.items():
                    spent[name, which].append(1000 * (read() - before[name]) / size)
    for name in ("service", "PostgreSQL", *accounts):
        many, none = spent[name, 0], spent[name, 1]
        added = 1000 * (mean(many) - mean(none)) / (rows / 1e6)
        yield Row("i", f"{name}, on {rows:,} rows of each kind", mean(many), "ms of CPU in one flow")
        yield Row("i", "   on the empty database", mean(none), "ms of CPU in one flow")
        yield Row("i", "   for each million rows", added, "µs of CPU in one flow")


def _connections(pool: str) -> Iterator[Row]:
    """After the flows: PgBouncer keeps its connections for ten minutes."""
    console = pool.replace("/postgres?", "/pgbouncer?")
    with psycopg.connect(console, autocommit=True, cursor_factory=psycopg.ClientCursor) as connection:
        cursor = connection.execute("SHOW POOLS")
        names = [column.name for column in cursor.description or ()]
        pools = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    for row in pools:
        if row["database"] == "full":
            clients = row["cl_active"] + row["cl_waiting"]
            yield Row("i", f"{2 * AT_ONCE} browsers at once: connections of clients", clients, "to PgBouncer")
            yield Row(
                "i", "   of PgBouncer", row["sv_active"] + row["sv_idle"] + row["sv_used"], "to PostgreSQL"
            )


def _sizes(site: Prepared) -> Iterator[Row]:
    with psycopg.connect(site.environment["DATABASE_URL"]) as connection:
        for name, table, indexes, rows in connection.execute(SIZES).fetchall():
            yield Row("i", f"{name}: {rows:,.0f} rows", table / rows, "bytes a row")
            yield Row("i", "   indexes", indexes / rows, "bytes a row")


def _lists(site: Prepared) -> Iterator[Row]:
    """The pages that are slow or read a large table whole, and the slowest statement of the others."""
    holder = [site.facts["client_id"], site.facts["emails"][0], site.facts["cookies"][0]]
    command = ["-m", "tools.benchmarks.lists", json.dumps(holder)]
    with Work(command, site.environment, patience=3_600) as work:
        pages = json.loads(work.done())
    slow = [page for page in pages if page["slowest"] > SLOW or page["whole"] or page["status"] != 200]
    fast = [page["slowest"] for page in pages if page not in slow]
    yield Row("i", f"{len(fast)} of {len(pages)} pages with lists", max(fast), "ms, the slowest statement")
    for page in sorted(slow, key=itemgetter("slowest"), reverse=True):
        note = f"{page['status']} {' '.join(page['whole'])}"
        yield Row("i", page["name"], page["slowest"], "ms, the slowest statement", note=note, limit=SLOW)


def _clearing(grown: Installation, rows: int) -> Iterator[Row]:
    """The rows of two hours are cleared while flows go on."""
    due, over = min(BATCHES * clearing.BATCH, rows // 2), Event()
    before = [grown.alone() for _ in range(200)]
    with ThreadPoolExecutor(1) as pool:
        others = pool.submit(_until, over, grown)
        try:
            cleared = clearing.run(grown.where, due)
        finally:
            over.set()
        during = others.result()
    for name, each in cleared.items():
        yield Row("i", f"clearing {due:,} {name}, while flows go on", each.seconds, "s on the clock")
        for label, seconds in (
            ("longest transaction that wrote", each.longest),
            ("longest wait for a lock", each.waited),
            ("longest statement", each.statement),
        ):
            yield Row("i", f"   {label}", 1000 * seconds, "ms on the clock")
    for label, found in (("before", before), ("meanwhile", during)):
        late = quantiles(found, n=20)[-1]
        yield Row("i", f"one flow at a time, {label}: 95th percentile", 1000 * late, "ms on the clock")
        yield Row("i", "   the longest", 1000 * max(found), "ms on the clock")


def _until(over: Event, grown: Installation) -> list[float]:
    found = [grown.alone()]
    while not over.wait(0.02):
        found.append(grown.alone())
    return found
