"""The format of times for operators."""

from datetime import UTC, datetime

from django.utils.formats import date_format

from infra.moments import moment

EARLY = datetime(2027, 2, 1, 9, 5, tzinfo=UTC)


def test_a_time_has_no_nought_before_the_day_and_says_its_zone() -> None:
    assert moment(EARLY) == "1 Feb 2027, 09:05 UTC"


def test_it_is_written_as_the_admin_writes_times() -> None:
    assert moment(EARLY) == date_format(EARLY, "DATETIME_FORMAT")
