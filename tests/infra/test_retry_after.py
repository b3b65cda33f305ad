"""`Retry-After` (RFC 9110 §10.2.3): seconds or a date, within bounds."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.outbound.retry_after import asked_to_wait, parse

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
MOST = timedelta(minutes=2)
NOTHING = timedelta(0)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("30", 30),
        (" 30 ", 30),
        ("86400", 120),
        ("999999999", 120),
        ("Sat, 21 Nov 2026 12:00:45 GMT", 45),
        ("Saturday, 21-Nov-26 12:00:45 GMT", 45),
        ("Sat Nov 21 12:00:45 2026", 45),
        ("Sun, 22 Nov 2026 12:00:45 GMT", 120),
        ("Sat, 21 Nov 2026 11:00:00 GMT", 0),
        ("", 0),
        ("-5", 0),
        ("1.5", 0),
        ("soon", 0),
        ("٣٠", 0),
        ("1" * 5000, 0),
        ("Sat, 21 Nov 99999 12:00:45 GMT", 0),
    ],
)
def test_seconds_and_dates_are_understood_within_bounds(text: str, seconds: int) -> None:
    assert asked_to_wait(503, text, now=NOW, most=MOST) == timedelta(seconds=seconds)


@pytest.mark.parametrize("status", [200, 202, 400, 500, 502])
def test_it_counts_only_for_the_statuses_it_goes_with(status: int) -> None:
    assert asked_to_wait(429, "30", now=NOW, most=MOST) == timedelta(seconds=30)
    assert asked_to_wait(status, "30", now=NOW, most=MOST) == NOTHING


@given(
    st.text() | st.from_regex(r"[A-Z][a-z]{2}, [0-9]{1,2} [A-Z][a-z]{2} [0-9]{1,6} [0-9:]{0,9} [A-Z]{0,3}")
)
def test_whatever_it_says_the_wait_is_within_bounds(text: str) -> None:
    assert isinstance(parse(text, now=NOW), timedelta)
    assert NOTHING <= asked_to_wait(503, text, now=NOW, most=MOST) <= MOST
