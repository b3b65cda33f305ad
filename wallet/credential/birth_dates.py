"""Dates of birth, of which the day, or day and month, may be unknown. Pure.

Passports have such dates: with XX, or < in the machine-readable zone (ICAO Doc 9303 part 3 §4.8). OpenID
Connect has the year alone (Core 1.0 §5.1). What is known is kept, and nothing is made up for the rest.
"""

import re
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from infra import localised

# Year, month and day, with two signs for an unknown one: XX as in ISO 8601-2, << as in passports, or 00.
_WRITTEN = re.compile(r"(\d{4})(?:-(\d\d|XX|xx|<<)(?:-(\d\d|XX|xx|<<))?)?", re.ASCII)
_UNKNOWN = (None, "00", "XX", "xx", "<<")


@dataclass(frozen=True, repr=False)
class PartialDate:
    """A year, or a month of a year, in which somebody was born.

    Raises ValueError if there is no such year or month.
    """

    year: int
    month: int | None = None

    def __post_init__(self) -> None:
        date(self.year, 1 if self.month is None else self.month, 1)

    def __str__(self) -> str:
        return self.isoformat()

    def isoformat(self) -> str:
        """YYYY or YYYY-MM."""
        return f"{self.year:04}" if self.month is None else f"{self.year:04}-{self.month:02}"


BirthDate = date | PartialDate


def read(written: Any) -> BirthDate | None:
    """The birth date that others write YYYY-MM-DD, YYYY-MM or YYYY, with 00, XX or << for what is unknown.

    None for anything else, such as a day of an unknown month, and a year that is withheld (0000).
    """
    parts = _WRITTEN.fullmatch(written) if isinstance(written, str) else None
    if parts is None:
        return None
    year, month, day = parts.groups()
    if month in _UNKNOWN and day not in _UNKNOWN:
        return None
    try:
        if day not in _UNKNOWN:
            return date(int(year), int(month), int(day))
        return PartialDate(int(year), None if month in _UNKNOWN else int(month))
    except ValueError:
        return None


def of_parts(year: int | None, month: int | None, day: int | None) -> BirthDate | None:
    """As `read`, from numbers, where None and 0 stand for what is unknown."""
    if not year or not 0 < year < 10_000:
        return None
    return read(f"{year:04}-{month or 0:02}-{day or 0:02}")


def as_stored(text: Any) -> BirthDate | None:
    """The birth date whose `isoformat` this is; None for anything else."""
    born = read(text)
    return born if born is not None and born.isoformat() == text else None


def earliest(born: BirthDate) -> date:
    """The first day on which the person may have been born."""
    return born if isinstance(born, date) else date(born.year, born.month or 1, 1)


def latest(born: BirthDate) -> date:
    """The last day on which the person may have been born."""
    if isinstance(born, date):
        return born
    month = born.month or 12
    return date(born.year, month, monthrange(born.year, month)[1])


def possible_days(born: BirthDate) -> Iterator[date]:
    """Every day on which the person may have been born."""
    first, last = earliest(born), latest(born)
    return (first + timedelta(days=count) for count in range((last - first).days + 1))


def compatible(born: BirthDate) -> Iterator[BirthDate]:
    """Every birth date that may be the same as this one, with more, as much, or less of it known."""
    months = dict.fromkeys((day.year, day.month) for day in possible_days(born))
    yield PartialDate(born.year)
    yield from (PartialDate(*month) for month in months)
    yield from possible_days(born)


def in_words(born: BirthDate) -> str:
    """What is known of it in the language of the page: “12 April 1990”, “April 1990” or “1990”."""
    if isinstance(born, date):
        return localised.day(born)
    return str(born.year) if born.month is None else localised.month(earliest(born))
