"""Benchmark (b): a signed-in holder's flow, compared with the code flow of other servers.

Every server has one process on the same core, and its own database in one PostgreSQL cluster. Only one of
them works at a time, so what the cluster's processes spend in a burst was spent for that server.
"""

import sys
from contextlib import ExitStack
from dataclasses import dataclass, replace

from tools.benchmarks import provider
from tools.benchmarks.bursts import Contender, Measured, alternate
from tools.benchmarks.flows import Holder, parallel_flows, pushed, service_holders, toolkit_holders
from tools.benchmarks.servers import HOLDERS, Servers
from tools.benchmarks.sites import Server, cpu_seconds, keep_to_one_core
from tools.benchmarks.table import Row

UNIT = "flows per CPU second"


@dataclass(frozen=True)
class Peer:
    """A server in the table, and what is required of the service's ratio to it."""

    label: str
    worker: float | None = None
    with_database: float | None = None


OURS = Peer("whole flow, signed-in holder")
TOOLKIT = Peer("django-oauth-toolkit: authorize, approve, code", worker=2.1, with_database=1.8)
PROVIDER = Peer("node-oidc-provider: authorize, consent, code", with_database=1.1)
PUSHED = "the person’s two requests, the request pushed before"
PUSHED_TARGET = 2.5  # times the toolkit’s flow


def run(servers: Servers, *, bursts: int, size: int) -> list[Row]:
    """Flows per second of CPU, of the worker alone and with PostgreSQL's, and the ratios."""
    with ExitStack() as stack:
        service = stack.enter_context(servers.service.open())
        toolkit = stack.enter_context(servers.toolkit.open())
        peers = [OURS, TOOLKIT]
        holders, push = pushed(servers.service, service)
        after_push = replace(contender(servers, service, holders), label="pushed", ready=push)
        contenders = [
            contender(servers, service, service_holders(servers.service)),
            contender(servers, toolkit, toolkit_holders(servers.toolkit)),
        ]
        if provider.INSTALLED:
            node = stack.enter_context(provider.Provider(servers.cluster))
            peers.append(PROVIDER)
            contenders.append(contender(servers, node, provider.provider_holders(node, HOLDERS)))
        else:
            print(f"Not compared with node-oidc-provider: {provider.MISSING} is missing.", file=sys.stderr)
        measured = alternate([*contenders, after_push], bursts=bursts, size=size)
    rows = [row for number, peer in enumerate(peers) for row in _rows(peer, measured, number)]
    last = len(peers)
    against_toolkit = measured.ratio(last, 1)
    return [*rows, Row("b", PUSHED, measured.rate(last), UNIT, against_toolkit, PUSHED_TARGET)]


def contender(servers: Servers, server: Server, holders: list[Holder]) -> Contender:
    """Flows of these holders, one after another; the server is kept to the core of the others."""
    process = server.worker
    keep_to_one_core(process)
    flows = parallel_flows(server, holders, at_once=1)
    return Contender(str(server.port), flows, lambda: cpu_seconds(process), servers.database_seconds)


def _rows(peer: Peer, measured: Measured, number: int) -> list[Row]:
    """A server without and with PostgreSQL, and how many times as fast the service (0) is as another."""
    alone = measured.ratio(0, number) if number else None
    together = measured.ratio(0, number, database=True) if number else None
    both = measured.rate(number, database=True)
    return [
        Row("b", peer.label, measured.rate(number), UNIT, alone, peer.worker),
        Row("b", "   with PostgreSQL’s CPU counted", both, UNIT, together, peer.with_database),
        Row("b", "   PostgreSQL’s CPU alone", 1000 * measured.database_alone(number), "ms in one flow"),
    ]
