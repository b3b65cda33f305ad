"""Limits are exact in a race, separate for each subject and purpose, and do not store the subject."""

from contextlib import ExitStack
from datetime import UTC, datetime, timedelta

import pytest
from django.utils.crypto import salted_hmac

from infra.limits import ClientLimit, Limit, LimitReachedError, RollingLimit, addresses_unread, take_all
from infra.models import Allowance
from tests.wallet.conftest import together

THREE = Limit("tests", most=3, window=timedelta(minutes=10))
NOW = datetime(2026, 3, 1, 12, 4, tzinfo=UTC)


def test_as_often_as_it_says_and_not_once_more(db):
    for left in (2, 1, 0):
        THREE.take("a", now=NOW)
        assert THREE.left("a", now=NOW) == left
    with pytest.raises(LimitReachedError) as reached:
        THREE.take("a", now=NOW)
    assert reached.value.retry_at == datetime(2026, 3, 1, 12, 10, tzinfo=UTC)
    assert Allowance.objects.get().count == 3


def test_the_end_of_a_window_is_stored_as_django_stores_times(db):
    """SQLite compares texts: a time in another form is never reached, and clearing would not find the row."""
    THREE.take("a", now=NOW)
    assert Allowance.objects.filter(expires_at=THREE.renewed_at(NOW)).exists()


def test_the_next_window_begins_anew(db):
    for _ in range(3):
        THREE.take("a", now=NOW)
    THREE.take("a", now=NOW + timedelta(minutes=6))


def test_subjects_and_purposes_are_counted_apart(db):
    for _ in range(3):
        THREE.take("a", now=NOW)
    THREE.take("b", now=NOW)
    Limit("other", most=3, window=timedelta(minutes=10)).take("a", now=NOW)


def test_what_is_given_back_can_be_taken_again(db):
    for _ in range(3):
        THREE.take("a", now=NOW)
    THREE.give_back("a", taken_at=NOW)
    THREE.take("a", now=NOW)
    with pytest.raises(LimitReachedError):
        THREE.take("a", now=NOW)


def test_giving_back_too_often_gives_nothing(db):
    THREE.give_back("a", taken_at=NOW)
    THREE.take("a", now=NOW)
    THREE.give_back("a", taken_at=NOW)
    THREE.give_back("a", taken_at=NOW)
    assert THREE.left("a", now=NOW) == 3


def test_where_no_address_can_be_read_nothing_is_counted_and_the_doctor_learns_of_it(db):
    per_client = ClientLimit("tests", most=1, window=timedelta(minutes=10))
    per_client.take("192.0.2.1", now=NOW)
    with pytest.raises(LimitReachedError):
        per_client.take("192.0.2.1", now=NOW)
    assert not addresses_unread(now=NOW)

    for _ in range(3):
        per_client.take(None, now=NOW)

    assert addresses_unread(now=NOW + timedelta(minutes=59))
    assert not addresses_unread(now=NOW + timedelta(hours=1))
    assert Allowance.objects.count() == 2  # a row, however many there are


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_many_addresses_that_cannot_be_read_at_once_are_one_row_and_no_error():
    per_client = ClientLimit("tests", most=1, window=timedelta(minutes=10))
    assert together(lambda number: per_client.take(None, now=NOW), 12) == [None] * 12
    assert Allowance.objects.count() == 1


@pytest.mark.parametrize("kind", [Limit, RollingLimit])
def test_the_table_does_not_say_whom_it_counts(db, kind):
    kind("tests", most=3, window=timedelta(minutes=10)).take("nora@example.org", now=NOW)
    assert "nora" not in str(Allowance.objects.values().get())


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_a_race_takes_exactly_what_is_allowed():
    results = together(lambda number: THREE.take("a", now=NOW), 12)
    assert [type(result) for result in results].count(LimitReachedError) == 9
    assert results.count(None) == 3
    assert Allowance.objects.get().count == 3


# --- Rolling -----------------------------------------------------------------------------------------------

ROLLING = RollingLimit("tests", most=3, window=timedelta(minutes=10))


def test_a_rolling_limit_allows_as_many_in_any_window_wherever_it_begins(db):
    for minute in (0, 4, 9):
        ROLLING.take("a", now=NOW + timedelta(minutes=minute))
    for minute in (9, 9.99):
        with pytest.raises(LimitReachedError) as reached:
            ROLLING.take("a", now=NOW + timedelta(minutes=minute))
        assert reached.value.retry_at == NOW + timedelta(minutes=10)
    ROLLING.take("a", now=NOW + timedelta(minutes=10))
    with pytest.raises(LimitReachedError):
        ROLLING.take("a", now=NOW + timedelta(minutes=13))
    ROLLING.take("b", now=NOW)
    RollingLimit("other", most=1, window=timedelta(minutes=10)).take("a", now=NOW)


def test_what_is_given_back_to_a_rolling_limit_can_be_taken_again(db):
    for minute in (0, 0, 1):
        ROLLING.take("a", now=NOW + timedelta(minutes=minute))
    ROLLING.give_back("a", taken_at=NOW)
    ROLLING.give_back("a", taken_at=NOW + timedelta(minutes=5))  # not taken, so nothing is given back
    ROLLING.take("a", now=NOW + timedelta(minutes=2))
    with pytest.raises(LimitReachedError):
        ROLLING.take("a", now=NOW + timedelta(minutes=2))


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_a_race_takes_exactly_what_a_rolling_limit_allows_and_gives_back_exactly_that():
    for before, subject in enumerate("abcd"):  # on a busy machine some do not race
        results = together(lambda number: ROLLING.take(subject, now=NOW), 12)  # noqa: B023
        assert [type(result) for result in results].count(LimitReachedError) == 9
        assert results.count(None) == 3
        assert Allowance.objects.count() == before + 3
        assert together(lambda number: ROLLING.give_back(subject, taken_at=NOW), 2) == [None, None]  # noqa: B023
        assert Allowance.objects.count() == before + 1


def test_of_several_limits_all_are_taken_or_none(db):
    one = Limit("one", most=1, window=timedelta(minutes=10))
    with ExitStack() as taken:
        assert take_all((THREE, "a"), (one, "a"), now=NOW, taken=taken)
        assert not take_all((THREE, "a"), (one, "a"), now=NOW, taken=taken)
        assert (THREE.left("a", now=NOW), one.left("a", now=NOW)) == (2, 0)

    assert (THREE.left("a", now=NOW), one.left("a", now=NOW)) == (3, 1)


def test_what_version_0_1_counted_counts_on(db):
    """The keys are the same as when this module belonged to `wallet`."""
    key = salted_hmac("wallet.limits.tests", f"{THREE._index(NOW)}\na", algorithm="sha256").hexdigest()
    Allowance.objects.create(key=key, count=3, expires_at=THREE.renewed_at(NOW))

    with pytest.raises(LimitReachedError):
        THREE.take("a", now=NOW)
