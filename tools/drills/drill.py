"""One drill: people present, something fails, and afterwards everything is counted."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic

from tools.benchmarks.browsers import Answer
from tools.drills.people import Crowd, Outcome, Window
from tools.drills.place import HOST, Installation, Place
from tools.drills.reckoning import Reckoning, reckon
from tools.drills.results import Result

WARM = 12  # flows before anything fails
AFTER = 20  # flows after it is over


@dataclass(frozen=True)
class Drill:
    """A drill that can be run by its name. Its function gives one result or several."""

    name: str
    run: Callable[[Place], Iterator[Result]]
    bound: int  # seconds after which it is ended

    @property
    def about(self) -> str:
        return about(self.run)

    @property
    def reference(self) -> str:
        """Where the function is, for `pkgutil.resolve_name`."""
        return f"{self.run.__module__}:{self.run.__qualname__}"


def about(run: Callable[[Place], Iterator[Result]]) -> str:
    """The first line of what the function of a drill says about itself."""
    return (run.__doc__ or run.__name__).splitlines()[0]


@dataclass
class Watch:
    """When the fault began and was over, on the monotonic clock, and the count at the end."""

    crowd: Crowd
    began: float = 0.0
    over: float = 0.0
    count: Reckoning | None = None

    def fault(self) -> None:
        self.began = monotonic()

    def mended(self) -> None:
        self.over = monotonic()

    def counted(self) -> Reckoning:
        """The count; only after the load has ended."""
        assert self.count
        return self.count

    def answers(self) -> int:
        """How many answers have arrived since the fault began."""
        return sum(moment > self.began for moment in self._answers())

    def slowest(self) -> float:
        """The longest flow that ended after the fault began, in seconds."""
        return max((f.ended - f.begun for f in self.crowd.flows if f.ended > self.began), default=0.0)

    def silence(self) -> float:
        """The longest time without an answer at any relying party since the fault began, in seconds."""
        moments = [self.began, *sorted(self._answers())]
        later = [moment for moment in moments if moment >= self.began]
        return max((b - a for a, b in zip(later, later[1:], strict=False)), default=0.0)

    def back_after(self) -> float:
        """Seconds from the end of the fault to the first answer."""
        return (
            min((moment for moment in self._answers() if moment > self.over), default=float("inf"))
            - self.over
        )

    def _answers(self) -> list[float]:
        return [flow.ended for flow in self.crowd.flows if flow.outcome is Outcome.ANSWERED]


@contextmanager
def step(name: str) -> Iterator[None]:
    """Prints how long a part of a drill took, so that one sees where a drill that was ended stood."""
    began = monotonic()
    yield
    print(f"  {name}: {monotonic() - began:.0f} s", file=sys.stderr, flush=True)


@contextmanager
def under_load(
    where: Installation, size: int = 6, *, pause: float = 0.05, warm: int = WARM, after: int = AFTER
) -> Iterator[Watch]:
    """People present during the block and for a while after it; then everything is counted."""
    with where.crowd(size, pause=pause) as crowd:
        watch = Watch(crowd)
        crowd.wait_for(warm)
        yield watch
        crowd.wait_for(after)
    if crowd.failed:
        raise RuntimeError(f"the drill itself failed: {crowd.failed}") from crowd.failed[0]
    watch.count = reckon(crowd.flows, where.url, where.party(), lambda url: document(where, url))


def document(where: Installation, url: str) -> Answer:
    """What nginx answers to a request for this address."""
    with Window(where.proxy.port, {}, host=f"{HOST}:{where.place.port}") as window:
        return window.get(url.removeprefix(where.place.origin))
