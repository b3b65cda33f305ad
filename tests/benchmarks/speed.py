"""Benchmark (b): a signed-in holder's flow, compared with the code flow of other servers.

Every server has one process on the same core, and its own database in one PostgreSQL cluster. Only one of
them works at a time, so what the cluster's processes spend in a burst was spent for that server.
"""

from collections.abc import Callable
from dataclasses import dataclass

from tests.benchmarks.bursts import Contender, Measured, alternate
from tests.benchmarks.flows import Holder, parallel_flows, service_holders, toolkit_holders
from tests.benchmarks.servers import Servers
from tests.benchmarks.sites import Site, cpu_seconds, keep_to_one_core
from tests.benchmarks.table import Row

WORKER_TARGET, WITH_DATABASE_TARGET = 2.0, 1.7
UNIT = "flows per CPU second"


@dataclass(frozen=True)
class Peer:
    """Another server, and what is required of the ratio to it; None: nothing."""

    label: str
    worker: float | None
    with_database: float | None


TOOLKIT = Peer("django-oauth-toolkit: authorize, approve, code", WORKER_TARGET, WITH_DATABASE_TARGET)


def run(servers: Servers, *, bursts: int, size: int) -> list[Row]:
    """Flows per second of CPU, of the worker alone and with PostgreSQL's, and the ratios."""
    with servers.service.open() as service, servers.toolkit.open() as toolkit:
        contenders = [
            _contender(servers, service, service.worker, service_holders(servers.service)),
            _contender(servers, toolkit, toolkit.worker, toolkit_holders(servers.toolkit)),
        ]
        measured = alternate(contenders, bursts=bursts, size=size)
    rows = _rows("whole flow, signed-in holder", measured, 0)
    return rows + _rows(TOOLKIT.label, measured, 1, TOOLKIT)


def _contender(servers: Servers, site: Site, process: int, holders: list[Holder]) -> Contender:
    keep_to_one_core(process)
    flows: Callable[[int], None] = parallel_flows(site, holders, at_once=1)
    return Contender(str(site.port), flows, lambda: cpu_seconds(process), servers.database_seconds)


def _rows(label: str, measured: Measured, number: int, peer: Peer | None = None) -> list[Row]:
    """A contender without and with PostgreSQL; of a peer, how many times as fast the service (0) is."""
    alone = measured.ratio(0, number) if peer else None
    together = measured.ratio(0, number, database=True) if peer else None
    return [
        Row(
            "b", label, measured.rate(number), UNIT, alone, peer.worker if peer else None, note="worker alone"
        ),
        Row(
            "b",
            "   the same with PostgreSQL’s CPU",
            measured.rate(number, database=True),
            UNIT,
            together,
            peer.with_database if peer else None,
        ),
        Row("b", "   PostgreSQL’s CPU in one flow", 1000 * measured.database_alone(number), "ms"),
    ]
