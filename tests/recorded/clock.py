"""A clock that moves only when it is told to, so that every time in an answer can be recorded as it is."""

import time
from datetime import UTC, datetime, timedelta
from typing import Any

BEGINNING = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


class Clock:
    """The time of day as Django and `time.time` give it. Waiting (`time.monotonic`) goes on as always."""

    def __init__(self) -> None:
        self.moment = BEGINNING

    def install(self) -> None:
        """Must happen before the project is imported, because modules keep the functions they import."""
        from django.utils import timesince, timezone

        timezone.now = self.now
        real = timesince.timesince  # asks the machine's clock when it is not told the time

        def since(d: Any, now: Any = None, **more: Any) -> str:
            return real(d, now or self.now(), **more)

        timesince.timesince = since
        time.time = self.seconds
        time.time_ns = lambda: int(self.seconds() * 1_000_000_000)

    def now(self) -> datetime:
        return self.moment

    def seconds(self) -> float:
        return self.moment.timestamp()

    def set(self, *, days: int) -> None:
        """So many days after the beginning; each group sets it, so that none moves another."""
        self.moment = BEGINNING + timedelta(days=days)

    def next(self, *, minutes: int) -> None:
        """On to the next multiple of so many minutes, so that a longer story does not move the next one."""
        step = timedelta(minutes=minutes)
        self.moment = BEGINNING + ((self.moment - BEGINNING) // step + 1) * step

    def move(self, **by: float) -> None:
        self.moment += timedelta(**by)


clock = Clock()
