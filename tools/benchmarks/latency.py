"""Benchmark (b): how long a flow takes on the clock while nobody else is served.

One browser at a time, which sends a request when the last one was answered, and a pause after each flow. The
service and django-oauth-toolkit take turns.
"""

from collections.abc import Callable, Sequence
from itertools import cycle
from statistics import median, quantiles
from time import perf_counter, sleep

from tools.benchmarks.browsers import Browser
from tools.benchmarks.bursts import Ratio
from tools.benchmarks.flows import Holder, service_holders, toolkit_holders
from tools.benchmarks.servers import Servers
from tools.benchmarks.sites import Server
from tools.benchmarks.table import Row

TARGET = 0.78
PAUSE = 0.05  # seconds
WARM_UP = 10  # flows, so that each of a worker's threads has its connection and statements


def run(servers: Servers, *, flows: int) -> list[Row]:
    """Median and 95th percentile of the milliseconds, and their ratios to the toolkit's."""
    with servers.service.open() as service, servers.toolkit.open() as toolkit:
        timed = [
            _timed(service, service_holders(servers.service)),
            _timed(toolkit, toolkit_holders(servers.toolkit)),
        ]
        ours, theirs = alternate_flows(timed, flows=flows)
    pairs = Ratio.of([one / other for one, other in zip(ours, theirs, strict=True)])
    slow, slow_of_theirs = percentile(ours, 95), percentile(theirs, 95)
    tail = slow / slow_of_theirs
    unit = "ms on the clock"
    return [
        Row("b", "one flow at a time: median", median(ours), unit, pairs, TARGET, at_most=True),
        Row("b", "   95th percentile", slow, unit, tail, TARGET, at_most=True),
        Row("b", "   django-oauth-toolkit: median", median(theirs), unit),
        Row("b", "   95th percentile", slow_of_theirs, unit),
    ]


def alternate_flows(timed: Sequence[Callable[[], float]], *, flows: int) -> list[list[float]]:
    """The milliseconds of each flow, `flows` of each server; the order alternates."""
    found: list[list[float]] = [[] for _ in timed]
    for number in range(-WARM_UP, flows):
        turn = list(enumerate(timed))
        for index, flow in turn if number % 2 == 0 else reversed(turn):
            milliseconds = flow()
            if number >= 0:
                found[index].append(milliseconds)
            sleep(PAUSE)
    return found


def percentile(values: Sequence[float], number: int) -> float:
    """Of at least two values."""
    return quantiles(values, n=100, method="inclusive")[number - 1]


def _timed(server: Server, holders: list[Holder]) -> Callable[[], float]:
    """A function that lets the next holder through, on a new connection, and returns milliseconds."""
    turns = cycle(holders)

    def flow() -> float:
        holder = next(turns)
        start = holder.request()
        began = perf_counter()
        with Browser(server.port, holder.cookies) as browser:
            home = browser.give(start, holder.yes)
        took = perf_counter() - began
        holder.cookies.update(browser.cookies)
        if not home.startswith(holder.answer):
            raise RuntimeError(f"a flow ended at {home[:300]}")
        return 1000 * took

    return flow
