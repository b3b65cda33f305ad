"""What the answers to one requester say together stands on the page before the yes."""

import re
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from consent import decisions
from consent.models import Consent
from tests.consent.questions import BASIC, put
from tests.people import ALICE, enroll
from wallet.models import Wallet

OVER = {years: ("age_equal_or_over", str(years)) for years in (16, 18, 36, 37, 38, 65)}
SENTENCE = re.compile(r'<p class="notice adds-up">\s*(.*?)\s*</p>', re.DOTALL)


def share(wallet: Wallet, *claims: Any, days_ago: int = 60, **changes: Any) -> Consent:
    """An answered question of Acme Bank."""
    at = timezone.now() - timedelta(days=days_ago)
    consent = put(wallet, claims=claims, now=at, **changes)
    decisions.grant(consent.id, wallet, switched_on=changes.get("optional", ()), now=at)
    return consent


def seen(client: Client, wallet: Wallet, *claims: Any, **changes: Any) -> list[str]:
    """The sentences on the page of a new question."""
    page = client.get(f"/consent/{put(wallet, claims=claims, **changes).id}/").content.decode()
    assert page.index('<dl class="claims">') < page.index('class="decision"')
    for sentence in SENTENCE.finditer(page):
        assert page.index('<dl class="claims">') < sentence.start() < page.index('class="decision"')
    return SENTENCE.findall(page)


@pytest.fixture
def birthday() -> date:
    """Alice's last one. It was three to four months ago, so she was as old as today when she last shared."""
    return (datetime.now(UTC).date() - timedelta(days=100)).replace(day=15)


@pytest.fixture
def alice(db: None, birthday: date) -> Wallet:
    return enroll(ALICE, given_name="Alice", family_name="Archer", birth_date=birthday.replace(year=1990))


@pytest.fixture
def age(alice: Wallet, client: Client, sign_in: Any, birthday: date) -> int:
    """How old Alice is; she is signed in."""
    sign_in(alice)
    return birthday.year - 1990


def test_ages_asked_at_different_times_say_how_old_somebody_is(client, alice: Wallet, age: int) -> None:
    earlier = share(alice, ("age_equal_or_over", str(age)))
    found = seen(client, alice, ("age_equal_or_over", str(age + 1)))
    day = f"{earlier.asked_at.day} {earlier.asked_at:%B %Y}"
    assert len(found) == 1
    assert found[0].startswith(f"Together with what you shared on {day}, this says that you are {age}")


def test_ages_of_one_request_say_it_too(client, alice: Wallet, age: int) -> None:
    asked = [("age_equal_or_over", str(years)) for years in (age, age + 1)]
    assert seen(client, alice, *asked) == [f"Together, these answers say that you are {age}."]
    assert seen(client, alice, *asked[1:]) == []


def test_what_is_told_without_being_shared_adds_up_too(client, alice: Wallet, age: int) -> None:
    this, next_year = (("age_equal_or_over", str(years)) for years in (age, age + 1))
    both = seen(client, alice, ("given_name",), told=[this, next_year])
    assert both == [f"Together, these answers say that you are {age}."]

    share(alice, ("given_name",), told=[this])
    for asked, told in (([next_year], []), ([("given_name",)], [next_year])):
        (found,) = seen(client, alice, *asked, told=told)
        assert f"this says that you are {age}" in found


def test_what_is_told_of_a_birth_date_does_not_say_all_of_it(client, alice: Wallet, age: int) -> None:
    asked = [("age_equal_or_over", str(years)) for years in (age, age + 1)]
    assert len(seen(client, alice, *asked, told=[("birth_date",)])) == 1


def test_all_that_was_shared_with_the_requester_counts_and_nothing_else(
    client, alice: Wallet, bob: Wallet, age: int
) -> None:
    younger = ("age_equal_or_over", str(age + 1))
    share(bob, younger)
    share(alice, younger, requester_id="other")
    declined = put(alice, claims=[younger])
    decisions.decline(declined.id, alice, now=timezone.now())
    undelivered = share(alice, younger)
    decisions.note_undelivered(undelivered.id, now=timezone.now())
    left_off = put(alice, claims=[*BASIC, younger], optional=[younger])
    decisions.grant(left_off.id, alice, now=timezone.now())
    assert seen(client, alice, ("age_equal_or_over", str(age))) == []

    share(alice, ("given_name",), younger, optional=[younger], days_ago=400)
    assert len(seen(client, alice, ("age_equal_or_over", str(age)))) == 1


def test_a_birthday_that_passed_between_a_no_and_a_yes_gives_a_range_of_dates(
    client, alice: Wallet, age: int, birthday: date
) -> None:
    since_birthday = (datetime.now(UTC).date() - birthday).days
    share(alice, ("age_equal_or_over", str(age)), days_ago=since_birthday + 3)
    (found,) = seen(client, alice, ("age_equal_or_over", str(age)))
    earliest = f"13 {birthday:%B} 1990"
    assert f"this says that you are {age} and were born between {earliest} and" in found


def test_the_sentence_is_in_spanish_too(client, alice: Wallet, age: int) -> None:
    client.cookies["language"] = "es"
    asked = [("age_equal_or_over", str(years)) for years in (age, age + 1)]
    (found,) = seen(client, alice, *asked)
    assert str(age) in found


@pytest.mark.parametrize(
    ("last", "asked", "reads"),
    [
        (BASIC, BASIC, False),
        (BASIC, [("given_name",), ("email",)], False),
        ([("given_name",)], BASIC, True),
        (BASIC, [OVER[37]], True),
        ([OVER[65]], [OVER[65]], True),
    ],
)
def test_earlier_answers_are_read_only_where_a_question_can_say_something_new(
    client, alice: Wallet, age: int, last: Any, asked: Any, reads: bool
) -> None:
    share(alice, *last)
    costs = []
    for consent in (put(alice, claims=[("given_name",)]), put(alice, claims=asked)):
        with CaptureQueriesContext(connection) as statements:
            assert client.get(f"/consent/{consent.id}/").status_code == 200
        costs.append(len(statements))
    assert costs[1] - costs[0] == reads
