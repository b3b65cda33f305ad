"""Compares servers by alternating short bursts, so that other load on the machine affects all alike."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Contender:
    """`burst(n)` sends n requests or flows; `cpu_seconds()` is the CPU time of the server so far."""

    label: str
    burst: Callable[[int], None]
    cpu_seconds: Callable[[], float]


def alternate(contenders: Sequence[Contender], *, bursts: int, size: int) -> list[float]:
    """Requests per second of server CPU: each contender's median over `bursts` bursts of `size`.

    The order alternates, so that no contender is always first. A burst before the first warms up.
    """
    rates: list[list[float]] = [[] for _ in contenders]
    for contender in contenders:
        contender.burst(size)
    for number in range(bursts):
        turn = list(enumerate(contenders))
        for index, contender in turn if number % 2 == 0 else reversed(turn):
            before = contender.cpu_seconds()
            contender.burst(size)
            # The kernel counts CPU time in ticks. A burst shorter than a tick took at most one.
            rates[index].append(size / max(contender.cpu_seconds() - before, 0.01))
    return [median(found) for found in rates]
