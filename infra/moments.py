"""Days in UTC, and the format of times for operators, in UTC as in the admin. Pure."""

from datetime import UTC, date, datetime


def day_of(when: datetime) -> date:
    """The day in UTC."""
    return when.astimezone(UTC).date()


def moment(when: datetime) -> str:
    """The time as in “1 Feb 2027, 09:30 UTC”."""
    return f"{when.day} {when:%b %Y, %H:%M} UTC"
