"""What a drill found: results, each of which is a line of the table. They pass between processes as JSON."""

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Self

from tools.drills.reckoning import Reckoning


@dataclass
class Result:
    """A line of the table. `missed` says which targets were not met, with the figure.

    Without a `count` the drill did not come to its end, and `missed` says why.
    """

    name: str
    count: Reckoning | None
    said: list[str] = field(default_factory=list)  # further figures
    missed: list[str] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        """Whether the drill ended, and nothing happened that must never happen."""
        return self.count is not None and self.count.sound

    def target(self, met: bool, text: str) -> None:
        (self.said if met else self.missed).append(text)

    def untroubled(self) -> None:
        """A target: every flow is clean."""
        assert self.count
        if troubled := self.count.flows - self.count.clean:
            self.missed.append(f"{troubled} flows met trouble")

    def to_json(self) -> str:
        return json.dumps(vars(self) | {"count": vars(self.count) if self.count else None})

    @classmethod
    def from_json(cls, text: str) -> Self:
        values = json.loads(text)
        if count := values.pop("count"):
            counters = {name: Counter(count[name]) for name in ("troubles", "last_pages")}
            return cls(count=Reckoning(**count | counters), **values)
        return cls(count=None, **values)


def unfinished(name: str, why: str) -> Result:
    """The result of a drill that did not come to its end."""
    return Result(name, None, missed=[" ".join(why.split())])
