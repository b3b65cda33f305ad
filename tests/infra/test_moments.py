"""The format of times for operators."""

from datetime import UTC, date, datetime, timedelta, timezone

from django.utils.formats import date_format

from infra.moments import day_of, moment

EARLY = datetime(2027, 2, 1, 9, 5, tzinfo=UTC)


def test_a_time_has_no_nought_before_the_day_and_says_its_zone() -> None:
    assert moment(EARLY) == "1 Feb 2027, 09:05 UTC"


def test_it_is_written_as_the_admin_writes_times() -> None:
    assert moment(EARLY) == date_format(EARLY, "DATETIME_FORMAT")


def test_a_day_is_that_in_utc_wherever_the_time_is_from() -> None:
    before_midnight = datetime(2027, 2, 1, 23, 30, tzinfo=timezone(timedelta(hours=-2)))
    assert day_of(before_midnight) == date(2027, 2, 2)
    assert day_of(datetime(2027, 2, 1, 23, 30, tzinfo=UTC)) == date(2027, 2, 1)
