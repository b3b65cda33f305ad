"""The format of times for operators and machines, and of durations. Pure."""

from datetime import UTC, date, datetime, timedelta
from typing import TypeVar

Day = TypeVar("Day", bound=date)


def moment(when: datetime) -> str:
    """The time as in “1 Feb 2027, 09:30 UTC”."""
    return f"{when.day} {when:%b %Y, %H:%M} UTC"


def iso(when: datetime) -> str:
    """ISO 8601 in UTC, to the second, for machines."""
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def in_words(period: timedelta) -> str:
    """A duration as in “1 day 10 minutes”; raises ValueError if it is not made of full minutes."""
    parts, rest = [], period
    for unit in ("day", "hour", "minute"):
        count, rest = divmod(rest, timedelta(**{f"{unit}s": 1}))
        parts += [f"{count} {unit}{'s' * (count > 1)}"] if count else []
    if rest or not parts:
        raise ValueError(period)
    return " ".join(parts)


def years_before(day: Day, years: int) -> Day:
    """The same day so many calendar years earlier; 28 February where that year has no 29 February."""
    try:
        return day.replace(year=day.year - years)
    except ValueError:
        return day.replace(year=day.year - years, day=28)
