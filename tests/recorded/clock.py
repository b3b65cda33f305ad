"""A clock that moves only when it is told to, so that every time in an answer can be recorded as it is."""

import time
from datetime import UTC, datetime, timedelta

BEGINNING = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


class Clock:
    """The time of day as Django and `time.time` give it. Waiting (`time.monotonic`) goes on as always."""

    def __init__(self) -> None:
        self.moment = BEGINNING

    def install(self) -> None:
        """Must happen before the project is imported, because modules keep the functions they import."""
        from django.utils import timezone

        timezone.now = self.now
        time.time = self.seconds
        time.time_ns = lambda: int(self.seconds() * 1_000_000_000)

    def now(self) -> datetime:
        return self.moment

    def seconds(self) -> float:
        return self.moment.timestamp()

    def set(self, *, minutes: int) -> None:
        """So many minutes after the beginning; sections of the table set it, so that none moves another."""
        self.moment = BEGINNING + timedelta(minutes=minutes)

    def move(self, **by: float) -> None:
        self.moment += timedelta(**by)


clock = Clock()
