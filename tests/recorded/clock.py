"""A clock that moves only when the table moves it, so that times in answers are the same in every run."""

import time
from datetime import UTC, datetime, timedelta
from typing import Any

BEGINNING = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


class Clock:
    """Replaces the time of Django and `time.time`. `time.monotonic` is not changed."""

    def __init__(self) -> None:
        self.moment = BEGINNING

    def install(self) -> None:
        """Must happen before the project is imported, because modules keep the functions they import."""
        from django.utils import timesince, timezone

        timezone.now = self.now
        real = timesince.timesince  # uses the machine's clock if it gets no time

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
        """Set the clock to a day after the beginning. Each group does this, so groups are independent."""
        self.moment = BEGINNING + timedelta(days=days)

    def next(self, *, minutes: int) -> None:
        """Move to the next multiple of `minutes`, so that a longer scenario does not change the next."""
        step = timedelta(minutes=minutes)
        self.moment = BEGINNING + ((self.moment - BEGINNING) // step + 1) * step

    def move(self, **by: float) -> None:
        self.moment += timedelta(**by)


clock = Clock()
