"""Benchmark (d): how long a worker takes to start, from the start of gunicorn to the first answer."""

from collections.abc import Sequence
from statistics import median
from time import perf_counter

from tools.benchmarks.bursts import Ratio
from tools.benchmarks.servers import Prepared, Servers
from tools.benchmarks.table import Row

MOST_SECONDS = 0.86


def run(servers: Servers, *, starts: int) -> list[Row]:
    """The median of `starts` starts on the clock, in turns with the toolkit. A start before them warms up."""
    ours, theirs = alternate_starts([servers.service, servers.toolkit], starts=starts)
    ratio = Ratio.of([one / other for one, other in zip(ours, theirs, strict=True)])
    return [
        Row("d", "start of gunicorn to the first answer", median(ours), "seconds", limit=MOST_SECONDS),
        Row("d", "the same of django-oauth-toolkit", median(theirs), "seconds", ratio),
    ]


def alternate_starts(sites: Sequence[Prepared], *, starts: int) -> list[list[float]]:
    """The seconds of each start of each site."""
    seconds: list[list[float]] = [[] for _ in sites]
    for number in range(starts + 1):
        for index, site in enumerate(sites):
            began = perf_counter()
            with site.open():
                took = perf_counter() - began
            if number:
                seconds[index].append(took)
    return seconds
