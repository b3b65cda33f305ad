"""The drawing of one day’s requests: a bar for each hour, with a part for each outcome. Pure.

Positions across are percentages and the SVG does not scale, so that its text stays readable on a phone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from presentation.statistics.counting import Counts

HOURS = 24
# Pixels: above the bars, of the highest bar, below the bars.
HEAD, TALL, FOOT = 18, 96, 22
WIDTH = 100 / HOURS
GAP = 0.6  # per cent of the width, between two bars
LEAST = 2.0  # pixels; a lower part would be invisible
# From the bottom up; the names are also the classes in the CSS.
PARTS = ("granted", "declined", "failed", "unanswered")


@dataclass(frozen=True)
class Part:
    """The part of a bar that stands for one outcome."""

    outcome: str
    x: str
    width: str
    y: str
    height: str


class Chart:
    """The drawing of the statistics of the day that begins at `start`, for a template."""

    def __init__(self, figures: Mapping[datetime, Counts], *, start: datetime) -> None:
        self.hours = [
            (hour, figures.get(hour, Counts()))
            for hour in (start + n * timedelta(hours=1) for n in range(HOURS))
        ]
        self.most = max(counts.asked for _hour, counts in self.hours)
        self.base, self.height, self.foot_y = HEAD + TALL, HEAD + TALL + FOOT, HEAD + TALL + FOOT - 6
        self.parts = [
            part for place, (_, counts) in enumerate(self.hours) for part in self._bar(place, counts)
        ]
        self.marks = [(f"{place * WIDTH:.2f}%", f"{place:02}:00") for place in (0, 6, 12, 18)]

    def _bar(self, place: int, counts: Counts) -> list[Part]:
        x, width, y, parts = f"{place * WIDTH + GAP / 2:.2f}%", f"{WIDTH - GAP:.2f}%", float(self.base), []
        for outcome in PARTS:
            if number := getattr(counts, outcome):
                height = max(TALL * number / self.most, LEAST)
                y -= height
                parts.append(Part(outcome, x, width, f"{y:.1f}", f"{height:.1f}"))
        return parts
