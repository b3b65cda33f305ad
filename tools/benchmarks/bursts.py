"""Compares servers by alternating short bursts, so that other load on the machine affects all alike.

Each ratio is taken between bursts of the same turn, and the median of these ratios decides. A ratio of two
medians would compare bursts that ran minutes apart.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import mean, median, quantiles
from typing import Self

TICK = 0.01  # the kernel's accounts of other processes; a burst shorter than a tick took at most one
FINEST = 1e-6  # of the process's own clock


def _nothing() -> float:
    return 0.0


def _is_ready(_size: int) -> None:
    """Needs no preparation."""


@dataclass(frozen=True)
class Contender:
    """`burst(n)` sends n requests or flows; the others tell the CPU time so far, in seconds."""

    label: str
    burst: Callable[[int], None]
    cpu_seconds: Callable[[], float]  # of the server
    database_seconds: Callable[[], float] = _nothing  # of the database's processes
    shortest: float = TICK  # what `cpu_seconds` can tell apart
    ready: Callable[[int], None] = _is_ready  # prepares a burst of n, before what counts


@dataclass(frozen=True)
class Ratio:
    """The median of the ratios of pairs, and their quartiles."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, ratios: Sequence[float]) -> Self:
        low, middle, high = quantiles(ratios, method="inclusive") if len(ratios) > 1 else [*ratios] * 3
        return cls(middle, low, high)


@dataclass(frozen=True)
class Measured:
    """Seconds of CPU for one request or flow: of each contender, in each burst."""

    server: list[list[float]]
    database: list[list[float]]

    def seconds(self, contender: int, *, database: bool = False) -> list[float]:
        """In each burst; with `database`, the database's are added."""
        pairs = zip(self.server[contender], self.database[contender], strict=True)
        return [server + (added if database else 0) for server, added in pairs]

    def rate(self, contender: int, *, database: bool = False) -> float:
        """Requests or flows per second of CPU, the median over all bursts."""
        return 1 / median(self.seconds(contender, database=database))

    def database_alone(self, contender: int) -> float:
        """Seconds of the database for one request or flow. The mean, because ticks average out."""
        return mean(self.database[contender])

    def ratio(self, one: int, other: int, *, database: bool = False) -> Ratio:
        """How many times as fast contender `one` is as `other`."""
        pairs = zip(self.seconds(one, database=database), self.seconds(other, database=database), strict=True)
        return Ratio.of([theirs / ours for ours, theirs in pairs])


def alternate(contenders: Sequence[Contender], *, bursts: int, size: int) -> Measured:
    """What each contender needs in each of `bursts` bursts of `size`.

    The order alternates, so that no contender is always first. A burst before the first warms up.
    """
    measured = Measured([[] for _ in contenders], [[] for _ in contenders])
    for contender in contenders:
        contender.ready(size)
        contender.burst(size)
    for number in range(bursts):
        turn = list(enumerate(contenders))
        for index, contender in turn if number % 2 == 0 else reversed(turn):
            contender.ready(size)
            server, database = contender.cpu_seconds(), contender.database_seconds()
            contender.burst(size)
            measured.server[index].append(max(contender.cpu_seconds() - server, contender.shortest) / size)
            measured.database[index].append((contender.database_seconds() - database) / size)
    return measured
