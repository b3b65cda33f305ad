"""Benchmark (h): the flow on a database that years have filled, against an empty one; and its clearing."""

import sys
from contextlib import ExitStack

from tools.benchmarks import clearing
from tools.benchmarks.bursts import Measured, alternate
from tools.benchmarks.flows import parallel_flows, service_holders
from tools.benchmarks.growth import fill
from tools.benchmarks.servers import Prepared, Servers
from tools.benchmarks.speed import contender
from tools.benchmarks.table import Row

TARGET = 1.15  # times the CPU of a flow on the empty database
CLEARING_TARGET = 1.5  # times the seconds for a batch where few rows stay
LONGEST_LOCK = 100  # milliseconds


def run(servers: Servers, *, rows: int, bursts: int, size: int) -> list[Row]:
    """Fills a copy of the service's database with `rows` rows of each kind, then measures both."""
    with servers.service.open() as service:  # what is copied
        parallel_flows(service, service_holders(servers.service), at_once=1)(1)
    with (
        servers.copy_of_service("full") as full,
        servers.copy_of_service("empty") as empty,
        servers.copy_of_service("few") as few,
    ):
        seconds = fill(full.environment["DATABASE_URL"], rows)
        print(f"(h) {rows:,} rows of each kind were made in {seconds:,.0f} s", file=sys.stderr, flush=True)
        measured = _flows(servers, [full, empty], bursts=bursts, size=size)
        return [*_flow_rows(measured, rows), *_clearing(full, few, rows)]


def _flow_rows(measured: Measured, rows: int) -> list[Row]:
    unit, ratio = "flows per CPU second", measured.ratio(1, 0, database=True)
    on_full, alone = f"flow on {rows:,} rows of each kind, with PostgreSQL’s CPU", "   PostgreSQL’s CPU alone"
    return [
        Row("h", on_full, measured.rate(0, database=True), unit, ratio, TARGET, at_most=True),
        Row("h", alone, 1000 * measured.database_alone(0), "ms in one flow"),
        Row("h", "the same on the empty database", measured.rate(1, database=True), unit),
        Row("h", alone, 1000 * measured.database_alone(1), "ms in one flow"),
    ]


def _flows(servers: Servers, sites: list[Prepared], *, bursts: int, size: int) -> Measured:
    with ExitStack() as stack:
        contenders = []
        for site in sites:
            worker = stack.enter_context(site.open())
            contenders.append(contender(servers, worker, service_holders(site)))
        return alternate(contenders, bursts=bursts, size=size)


def _clearing(full: Prepared, few: Prepared, rows: int) -> list[Row]:
    """The batches of clearing are the same in both databases. What stays differs."""
    batches = max(1, min(10, rows // (4 * clearing.BATCH)))
    due = min(batches * clearing.BATCH, rows // 2)
    fill(few.environment["DATABASE_URL"], 2 * due)
    found: list[Row] = []
    where_few, where_many = clearing.run(few, due), clearing.run(full, due)
    for name, cleared in where_many.items():
        base = where_few[name]
        label = f"clearing {name}: a batch of {clearing.BATCH:,} at most, few stay"
        found.append(Row("h", label, 1000 * base.seconds / batches, "ms on the clock"))
        ratio = cleared.seconds / base.seconds
        label, time = f"   the same where {rows - due:,} stay", 1000 * cleared.seconds / batches
        found.append(Row("h", label, time, "ms on the clock", ratio, CLEARING_TARGET, at_most=True))
        label, time = "   longest transaction that wrote", 1000 * cleared.longest
        found.append(Row("h", label, time, "ms on the clock", limit=LONGEST_LOCK))
    return found
