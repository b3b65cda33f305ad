"""Benchmark (d): the memory of a worker, before and after many flows."""

from tools.benchmarks.flows import parallel_flows, service_holders
from tools.benchmarks.servers import Servers
from tools.benchmarks.sites import resident_megabytes
from tools.benchmarks.table import Row

MOST_MEGABYTES = 100
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
