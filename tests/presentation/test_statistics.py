"""The figures of relying parties: counted once, kept when requests are deleted, and drawn."""

import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from presentation.models import Interaction, RelyingParty, RequestCount
from presentation.statistics import counting
from presentation.statistics.chart import HEAD, LEAST, PARTS, TALL, Chart
from presentation.statistics.counting import Counts
from tests.presentation.past_requests import requests_of

pytestmark = pytest.mark.slow

HOUR = timedelta(hours=1)


@pytest.fixture
def now() -> datetime:
    return datetime(2026, 11, 22, 15, 20, tzinfo=UTC)


@pytest.fixture
def busy(acme_bank: RelyingParty, corner_shop: RelyingParty, now: datetime) -> datetime:
    """Requests of two relying parties in two hours; gives the beginning of the first hour."""
    first = datetime(2026, 11, 22, 9, tzinfo=UTC)
    requests_of(acme_bank, first + timedelta(minutes=59), token=2, declined=1, failed=1, left=1)
    requests_of(corner_shop, first, token=1)
    requests_of(acme_bank, now - timedelta(minutes=5), declined=1, left=2)
    return first


def test_the_figures_are_the_same_before_and_after_an_hour_is_stored(
    busy: datetime, acme_bank: RelyingParty, now: datetime
) -> None:
    def read() -> Any:
        return [
            counting.by_hour(busy, counting.hour_of(now) + HOUR, relying_party=party)
            for party in (None, acme_bank)
        ]

    before = read()
    assert counting.store_ended_hours(now=now) == 2
    assert read() == before
    assert before[1] == {busy: Counts(5, 2, 1, 1), counting.hour_of(now): Counts(3, 0, 1, 0)}
    assert before[0][busy] == Counts(6, 3, 1, 1)
    assert before[0][busy].unanswered == 1


def test_an_hour_is_stored_when_none_of_its_requests_can_be_answered_any_more(
    acme_bank: RelyingParty, now: datetime
) -> None:
    requests_of(acme_bank, now, left=1)
    assert counting.store_ended_hours(now=counting.hour_of(now) + HOUR + timedelta(hours=2)) == 0
    assert counting.store_ended_hours(now=counting.hour_of(now) + HOUR + counting.ENDED) == 1


def test_storing_again_changes_nothing(busy: datetime, now: datetime) -> None:
    counting.store_ended_hours(now=now)
    stored = list(RequestCount.objects.values())
    assert counting.store_ended_hours(now=now) == 0
    assert list(RequestCount.objects.values()) == stored


def test_hours_are_stored_after_days_without_the_command(
    busy: datetime, acme_bank: RelyingParty, now: datetime
) -> None:
    counting.store_ended_hours(now=now)
    requests_of(acme_bank, now + timedelta(days=2), token=3)
    assert counting.store_ended_hours(now=now + timedelta(days=5)) == 2
    assert counting.total(
        counting.by_hour(busy, now + timedelta(days=6), relying_party=acme_bank).values()
    ) == Counts(11, 5, 2, 1)


def test_clearing_deletes_requests_and_not_their_figures(acme_bank: RelyingParty) -> None:
    made_at = timezone.now() - timedelta(hours=25, minutes=40)
    requests_of(acme_bank, made_at, declined=2, failed=1)
    RequestCount.objects.create(
        relying_party=acme_bank,
        hour=counting.hour_of(made_at) - HOUR,
        asked=0,
        granted=0,
        declined=0,
        failed=0,
    )
    call_command("clear_expired")
    assert not Interaction.objects.exists()
    found = counting.by_hour(counting.hour_of(made_at), counting.hour_of(timezone.now()) + HOUR)
    assert counting.total(found.values()) == Counts(3, 0, 2, 1)


def test_figures_of_more_than_400_days_ago_are_deleted(acme_bank: RelyingParty) -> None:
    for days in (399, 401):
        RequestCount.objects.create(
            relying_party=acme_bank,
            hour=timezone.now() - timedelta(days=days),
            **dict.fromkeys(("asked", "granted", "declined", "failed"), 1),
        )
    call_command("clear_expired")
    assert RequestCount.objects.count() == 1


def test_days_are_whole_and_none_is_left_out(busy: datetime, acme_bank: RelyingParty, now: datetime) -> None:
    start = datetime(2026, 11, 20, tzinfo=UTC)
    days = list(counting.by_day(start, start + timedelta(days=3), relying_party=acme_bank))
    assert [(day.day, counts.asked) for day, counts in days] == [(20, 0), (21, 0), (22, 8)]


def test_reading_costs_three_statements(
    busy: datetime, acme_bank: RelyingParty, now: datetime, statements: Any
) -> None:
    counting.store_ended_hours(now=now)
    with statements() as counted:
        counting.by_hour(busy, counting.hour_of(now) + HOUR, relying_party=acme_bank)
    assert len(counted.texts) == 3


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_two_processes_count_an_hour_once(acme_bank: RelyingParty, now: datetime) -> None:
    first = datetime(2026, 11, 22, 9, tzinfo=UTC)
    requests_of(acme_bank, first, token=2, declined=1)
    barrier = threading.Barrier(4)

    def work() -> None:
        try:
            barrier.wait(timeout=5)
            counting.store_ended_hours(now=now)
        finally:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(RequestCount.objects.values_list("hour", "asked", "granted")) == [(first, 3, 2)]


NUMBERS = st.integers(min_value=0, max_value=10**6)
COUNTS = st.builds(
    lambda granted, declined, failed, left: Counts(
        granted + declined + failed + left, granted, declined, failed
    ),
    *[NUMBERS] * 4,
)


@given(st.dictionaries(st.integers(min_value=0, max_value=23), COUNTS))
def test_every_outcome_of_every_hour_is_drawn_within_the_picture(hours: dict[int, Counts]) -> None:
    start = datetime(2026, 11, 22, tzinfo=UTC)
    chart = Chart({start + hour * HOUR: counts for hour, counts in hours.items()}, start=start)
    wanted = sum(1 for counts in hours.values() for outcome in PARTS if getattr(counts, outcome))
    assert len(chart.parts) == wanted
    slack = LEAST * len(PARTS)
    for part in chart.parts:
        assert float(part.y) >= HEAD - slack - 1
        assert float(part.y) + float(part.height) <= HEAD + TALL + 0.2
        assert 0 <= float(part.x[:-1]) < 100
