"""The calendar of the keys: what happens within a year, from the keys and certificates that there are."""

from datetime import datetime, timedelta
from io import StringIO
from json import loads
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keys.models import SigningKey
from keys.rotation import due_steps, moves
from keys.rotation.calendar import TASKS, YEAR, Date, calendar
from keys.rotation.states import State, in_state
from tests.keys.test_rotation import chain_for

pytestmark = pytest.mark.django_db
DAY, HOUR = timedelta(days=1), timedelta(hours=1)
GUIDE = Path(__file__).resolve().parents[2] / "docs" / "keys.md"


def days(dates: list[Date], words: str, now: datetime) -> list[int]:
    """In how many days each date comes whose text has these words."""
    return [round((date.at - now) / DAY) for date in dates if words in date.what]


def test_the_rotations_of_a_year_are_those_that_then_happen(now: datetime) -> None:
    due_steps.rotate(now=now)
    foretold = [date for date in calendar(now=now) if "The staged" in date.what or "is staged" in date.what]

    assert days(foretold, "takes over", now) == [90, 180, 270, 360]
    assert days(foretold, "is staged", now) == [88, 178, 268, 358]
    for date in foretold:
        what = "activated" if "takes over" in date.what else "staged"
        before = due_steps.rotate(now=date.at - HOUR).done
        assert what not in {entry.what for entry in before}
        assert what in {entry.what for entry in due_steps.rotate(now=date.at).done}


def test_with_a_spare_each_key_is_staged_when_the_one_before_begins_to_sign(
    now: datetime, settings: Any
) -> None:
    settings.SIGNING_KEY_SPARE = True
    due_steps.rotate(now=now)
    foretold = calendar(now=now)

    assert in_state(State.STAGED)
    assert days(foretold, "takes over", now) == [90, 180, 270, 360]
    assert days(foretold, "Another key is staged", now) == [90, 180, 270, 360]


def test_each_certificate_is_named_sixty_days_before_its_end_with_what_to_do(
    now: datetime, settings: Any
) -> None:
    settings.SELF_CERTIFYING_AUTHORITY = False
    due_steps.rotate(now=now)
    key = SigningKey.objects.get()
    moves.certify(key.pk, chain_for(key, now, ends=now + 200 * DAY), now=now)

    found = [date for date in calendar(now=now) if "certificate of" in date.what]

    assert [round((date.at - now) / DAY) for date in found if "a signing key" in date.what] == [140, 200]
    to_do = {date.to_do for date in found if "an authority" in date.what and "ends on" in date.what}
    assert to_do == {
        "Get certificates under the next one from the authority; give relying parties a new root now."
    }


def test_a_key_that_waits_for_its_certificate_is_first_and_says_what_to_do(
    now: datetime, settings: Any
) -> None:
    settings.SELF_CERTIFYING_AUTHORITY = False
    moves.stage(now=now - DAY)

    first, settings.CERTIFICATE_COMMAND = calendar(now=now)[0], "/usr/local/bin/get-certificate"

    assert first.at == now
    assert "waits for its certificate" in first.what
    assert "certify_signing_key" in first.to_do
    assert "certificate_not_obtained" in calendar(now=now)[0].to_do


def test_the_regular_tasks_are_those_of_the_guide(now: datetime) -> None:
    names = {1: "January", 4: "April", 7: "July", 10: "October"}
    rows = GUIDE.read_text().split("## The year")[1].split("\n## ")[0]

    assert TASKS.keys() == names.keys()
    for month, task in TASKS.items():
        row = next(line for line in rows.splitlines() if line.startswith(f"| {names[month]} |"))
        assert task.split()[0].lower() in row.lower()
        assert task in {date.to_do for date in calendar(now=now)}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None)
@given(passed=st.integers(min_value=0, max_value=1500))
def test_no_date_is_past_or_further_than_a_year_and_they_are_in_order(now: datetime, passed: int) -> None:
    """Also when nothing has run for years."""
    if not SigningKey.objects.exists():
        due_steps.rotate(now=now)
    then = now + passed * DAY

    dates = calendar(now=then)

    assert dates == sorted(dates)
    assert all(then <= date.at <= then + YEAR for date in dates)


def test_the_command_prints_the_same_for_people_and_for_programs(now: datetime) -> None:
    due_steps.rotate(now=now)
    call_command("key_calendar", stdout=(text := StringIO()))
    call_command("key_calendar", json=True, stdout=(out := StringIO()))

    dates = loads(out.getvalue())
    assert {tuple(date) for date in dates} == {("at", "what", "to_do", "planned")}
    for date in dates:
        assert date["what"] in text.getvalue()
    assert f"{now + 90 * DAY:%d %b %Y}  The staged key takes over. (planned)" in text.getvalue()
