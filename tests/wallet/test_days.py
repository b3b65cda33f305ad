"""Which day counts: ages turn late, and documents end early, wherever on Earth it is which day."""

from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wallet.credential import claims, days

MOMENTS = st.datetimes(datetime(2020, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC))
DAYS = st.dates(date(2020, 1, 1), date(2040, 1, 1))
ZONES = st.integers(-12, 14).map(lambda hours: timezone(timedelta(hours=hours)))
LAST = timezone(timedelta(hours=-12))
SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("zone", "turns_at"),
    [
        (LAST, "2026-05-02T12:00+00:00"),
        (ZoneInfo("America/Los_Angeles"), "2026-05-02T00:00-07:00"),
        (UTC, "2026-05-02T00:00+00:00"),
        (ZoneInfo("Pacific/Auckland"), "2026-05-02T00:00+12:00"),
    ],
)
def test_an_age_turns_when_the_birthday_begins_in_the_zone(zone: tzinfo, turns_at: str) -> None:
    born, turns = date(2008, 5, 2), datetime.fromisoformat(turns_at)
    assert claims.age(born, days.of_ages(turns - SECOND, zone)) == 17
    assert claims.age(born, days.of_ages(turns, zone)) == 18


@pytest.mark.parametrize(("year", "turns_on"), [(2026, date(2026, 3, 1)), (2028, date(2028, 2, 29))])
def test_those_born_on_29_february_are_a_year_older_on_1_march_in_other_years(
    year: int, turns_on: date
) -> None:
    born = date(2008, 2, 29)
    assert claims.age(born, turns_on) == year - 2008
    assert claims.age(born, turns_on - timedelta(days=1)) == year - 2009


@given(MOMENTS, ZONES)
def test_where_days_begin_last_nobody_is_older_than_anywhere_else(now: datetime, zone: tzinfo) -> None:
    assert days.of_ages(now, LAST) <= days.of_ages(now, zone) <= days.newest(now)


@given(DAYS, MOMENTS, ZONES)
def test_a_document_has_ended_as_soon_as_its_last_day_is_over_anywhere(
    last_day: date, now: datetime, zone: tzinfo
) -> None:
    for moment in (now, days.end_of(last_day), days.end_of(last_day) - SECOND):
        assert days.is_over(last_day, moment) == (moment >= days.end_of(last_day))
        if moment.astimezone(zone).date() > last_day:
            assert days.is_over(last_day, moment)


@given(DAYS)
def test_the_last_day_of_what_ends_with_a_document_is_that_of_the_document(last_day: date) -> None:
    assert days.last_day_before(days.end_of(last_day)) == last_day


def test_the_last_day_of_what_an_earlier_release_let_end_at_midnight_is_the_day_before() -> None:
    assert days.last_day_before(datetime(2026, 5, 3, tzinfo=UTC)) == date(2026, 5, 2)


@given(MOMENTS)
def test_the_end_of_a_validity_is_one_that_documents_can_have(end: datetime) -> None:
    rounded = days.rounded_down(end)
    assert end - timedelta(days=1) < rounded <= end
    assert rounded == days.end_of(days.last_day_before(rounded))


@given(MOMENTS)
def test_a_question_of_an_earlier_release_keeps_its_day_in_utc(asked_at: datetime) -> None:
    assert days.as_asked(asked_at, None) == asked_at.date()


@given(MOMENTS, ZONES | st.sampled_from([ZoneInfo("Asia/Kathmandu"), ZoneInfo("America/St_Johns")]))
def test_a_question_keeps_the_day_for_which_it_was_asked(asked_at: datetime, zone: tzinfo) -> None:
    assert days.as_asked(asked_at, days.minutes_ahead(asked_at, zone)) == days.of_ages(asked_at, zone)
