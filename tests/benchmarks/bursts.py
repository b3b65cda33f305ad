"""How sites are compared: short bursts in turn, so that what else the machine does meets all alike."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Contender:
    """`burst` does so many things; `cpu_seconds` is what the server has used so far."""

    label: str
    burst: Callable[[int], None]
    cpu_seconds: Callable[[], float]


def alternate(contenders: Sequence[Contender], *, bursts: int, size: int) -> list[float]:
    """Things done per second of server CPU: each contender's median over `bursts` bursts of `size`.

    The order turns round every time, so that nobody always comes first. A burst before the first warms up.
    """
    rates: list[list[float]] = [[] for _ in contenders]
    for contender in contenders:
        contender.burst(size)
    for number in range(bursts):
        turn = list(enumerate(contenders))
        for index, contender in turn if number % 2 == 0 else reversed(turn):
            before = contender.cpu_seconds()
            contender.burst(size)
            # An idle server's accounts move in ticks; a burst shorter than one took at most that.
            rates[index].append(size / max(contender.cpu_seconds() - before, 0.01))
    return [median(found) for found in rates]
