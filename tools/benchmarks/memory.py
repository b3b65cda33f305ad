"""Benchmark (d): the memory of a worker, before and after many flows."""

from dataclasses import replace

from tools.benchmarks.flows import parallel_flows, service_holders
from tools.benchmarks.servers import Servers
from tools.benchmarks.sites import children, proportional_megabytes, resident_megabytes
from tools.benchmarks.table import Row

MOST_MEGABYTES = 100
WORKERS, MOST_TOGETHER = 4, 250
GROWTH_TARGET = 1.03  # allows for memory that the allocator keeps
PARALLEL = 4  # browsers at once, so that every thread of the worker is used


def run(servers: Servers, *, early: int, late: int) -> list[Row]:
    """The worker's resident memory after `early` flows and after `late`."""
    with servers.service.open() as service:
        burst = parallel_flows(service, service_holders(servers.service), at_once=PARALLEL)
        burst(early)
        first = resident_megabytes(service.worker)
        burst(late - early)
        last = resident_megabytes(service.worker)
    return [
        _together(servers, flows=early),
        Row("d", f"worker's resident memory after {early:,} flows", first, "MB", limit=MOST_MEGABYTES),
        Row(
            "d",
            f"the same worker after {late:,} flows",
            last,
            "MB",
            last / first,
            GROWTH_TARGET,
            at_most=True,
            note=f"growth {last - first:+.1f} MB",
            limit=MOST_MEGABYTES,
        ),
    ]


def _together(servers: Servers, *, flows: int) -> Row:
    """The memory of several workers, each page that they share counted once (PSS)."""
    environment = {**servers.service.environment, "WEB_CONCURRENCY": str(WORKERS)}
    with replace(servers.service, environment=environment).open() as service:
        parallel_flows(service, service_holders(servers.service), at_once=PARALLEL)(flows)
        megabytes = sum(map(proportional_megabytes, children(service.process.pid)))
    return Row("d", f"{WORKERS} workers after {flows:,} flows (PSS)", megabytes, "MB", limit=MOST_TOGETHER)
