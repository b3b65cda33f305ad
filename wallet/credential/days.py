"""Which day it is, where something about a person depends on it (decision 23). Pure.

At every moment it is two or three different days on Earth. An age turns late, where the day begins last, and
a document ends early, where the day is over first: so nobody is said to be older, and no document to be valid
longer, than is true everywhere.
"""

from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo

ONE_DAY = timedelta(days=1)
BEGINS_FIRST = timezone(timedelta(hours=14))  # the Line Islands of Kiribati


def of_ages(now: datetime, zone: tzinfo) -> date:
    """The day for which ages are computed: an age turns when the birthday has begun in `zone`.

    zone: what the operator has set, `settings.AGE_TIME_ZONE`; by default where a day begins last.
    """
    return now.astimezone(zone).date()


def minutes_ahead(now: datetime, zone: tzinfo) -> int:
    """By how many minutes the zone is ahead of UTC: stored with a question, for `as_asked`."""
    return int((now.astimezone(zone).utcoffset() or timedelta()).total_seconds()) // 60


def as_asked(asked_at: datetime, minutes_ahead: int | None) -> date:
    """The day for which the ages in a question were computed: that of `of_ages` when it was asked.

    minutes_ahead: as stored with it; None in rows of earlier releases, whose ages were those of the UTC day.
    """
    return (asked_at.astimezone(UTC) + timedelta(minutes=minutes_ahead or 0)).date()


def newest(now: datetime) -> date:
    """The newest day that has begun anywhere. A later one is in the future everywhere."""
    return now.astimezone(BEGINS_FIRST).date()


def end_of(last_day: date) -> datetime:
    """The moment at which a document ends: as soon as its last day is over anywhere."""
    return datetime.combine(last_day + ONE_DAY, time(), BEGINS_FIRST)


def is_over(last_day: date, now: datetime) -> bool:
    """Whether a document with this last day has ended."""
    return last_day < newest(now)


def rounded_down(end: datetime) -> datetime:
    """The last moment up to `end` at which some document could end: see `end_of`."""
    return datetime.combine(newest(end), time(), BEGINS_FIRST)


def last_day_before(end: datetime) -> date:
    """The last day that somebody can count on, of what ends at this moment.

    As UTC has it: `end_of` is at ten in the morning there, and earlier releases wrote the midnight after.
    """
    return (end.astimezone(UTC) - timedelta(microseconds=1)).date()
