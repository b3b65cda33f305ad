"""Dates of birth of which a part is unknown: what is read, what is shown, and what is said about ages."""

import json
from datetime import date, timedelta

import pytest
from django.utils.translation import override
from hypothesis import given
from hypothesis import strategies as st

from wallet.credential import birth_dates, claims
from wallet.credential.birth_dates import BirthDate, PartialDate
from wallet.credential.claims import Identity, IdentityError
from wallet.credential.inference import AGE, SharedClaim, born, facts

YEARS = st.integers(1900, 2024)
PARTIAL = st.builds(PartialDate, YEARS, st.none() | st.integers(1, 12))
ANY = PARTIAL | st.dates(date(1900, 1, 1), date(2024, 12, 31))
AGES = st.integers(1, claims.HIGHEST_AGE)
TODAY = date(2026, 11, 28)


def answers_near_to(known: BirthDate) -> st.SearchStrategy[SharedClaim]:
    """Questions about any age, on days about the birthday in question: that is where answers change."""
    return st.builds(
        lambda years, days: SharedClaim(
            (AGE, str(years)), date(known.year + years, 7, 1) + timedelta(days=days)
        ),
        AGES,
        st.integers(-250, 250),
    )


def person(birth_date: BirthDate) -> Identity:
    return Identity("Amina", "Yusuf", birth_date, ("SO",))


@pytest.mark.parametrize(
    ("written", "known"),
    [
        ("1990-04-12", date(1990, 4, 12)),
        ("1990-04", PartialDate(1990, 4)),
        ("1990-04-00", PartialDate(1990, 4)),
        ("1990-04-XX", PartialDate(1990, 4)),
        ("1990", PartialDate(1990)),
        ("1990-00-00", PartialDate(1990)),
        ("1990-XX-XX", PartialDate(1990)),
        ("1990-xx-xx", PartialDate(1990)),
        ("1990-04-<<", PartialDate(1990, 4)),
        ("1990-<<-<<", PartialDate(1990)),
        *(
            (odd, None)
            for odd in (
                *("", "90", "0000", "0000-04-12", "1990-13", "1990-02-30", "1990-00-12", "1990-XX-12"),
                *("1990-1X-00", "1990-04-0X", "1990-X", "1990--", "XXXX-04-12", "1990-XX-XX-XX"),
                *("19900412", "1990-4-12", "1990-04-12T00:00", "1990-W15-4", " 1990", "1990\n", "١٩٩٠"),
                *(1990, None, ["1990"], True),
            )
        ),
    ],
)
def test_what_others_write_is_read_as_far_as_it_is_known(written: object, known: BirthDate | None) -> None:
    assert birth_dates.read(written) == known


@given(st.text(max_size=12) | st.from_regex(r"[0-9Xx<-]{4,10}", fullmatch=True))
def test_no_text_breaks_the_reading_and_what_is_read_can_be_stored(text: str) -> None:
    known = birth_dates.read(text)
    if known is not None:
        assert birth_dates.as_stored(known.isoformat()) == known


@given(st.none() | st.integers(-5, 10**20), *[st.none() | st.integers(-5, 130)] * 2)
def test_no_numbers_break_the_reading_of_parts(year: int | None, month: int | None, day: int | None) -> None:
    known = birth_dates.of_parts(year, month, day)
    if known is not None:
        assert known.year == year
        assert not isinstance(known, date) or (known.month, known.day) == (month, day)


@given(ANY)
def test_an_identity_is_stored_with_what_is_known_and_comes_back_unchanged(known: BirthDate) -> None:
    text = person(known).to_json()
    assert json.loads(text)["birth_date"] == known.isoformat()
    assert Identity.from_json(text) == person(known)


@pytest.mark.parametrize("stored", ["1990-00-00", "1990-XX-XX", "0000", "1990-4", 1990, None])
def test_nothing_else_is_read_from_the_store(stored: object) -> None:
    facts = json.loads(person(TODAY).to_json()) | {"birth_date": stored}
    with pytest.raises(IdentityError):
        Identity.from_json(json.dumps(facts))


@given(ANY)
def test_the_possible_days_are_those_that_begin_with_what_is_known(known: BirthDate) -> None:
    possible = list(birth_dates.possible_days(known))
    assert (possible[0], possible[-1]) == (birth_dates.earliest(known), birth_dates.latest(known))
    assert all(day.isoformat().startswith(known.isoformat()) for day in possible)
    for beyond in (possible[0] - timedelta(days=1), possible[-1] + timedelta(days=1)):
        assert not beyond.isoformat().startswith(known.isoformat())


@given(st.data(), ANY)
def test_an_age_is_answered_as_for_every_possible_birth_date_or_not_at_all(
    data: st.DataObject, known: BirthDate
) -> None:
    asked = data.draw(answers_near_to(known))
    years = int(asked.path[1])
    answers = {claims.age(day, asked.day) >= years for day in birth_dates.possible_days(known)}
    answer = answers.pop() if len(answers) == 1 else None

    values = claims.values(person(known), [asked.path], today=asked.day)
    assert values == ({} if answer is None else {AGE: {str(years): answer}})
    assert claims.held(person(known), [asked.path], today=asked.day) == (
        [] if answer is None else [asked.path]
    )


@pytest.mark.parametrize(
    ("known", "last_no", "first_yes"),
    [
        (PartialDate(2008), date(2025, 12, 31), date(2026, 12, 31)),
        (PartialDate(2008, 4), date(2026, 3, 31), date(2026, 4, 30)),
        (PartialDate(2008, 2), date(2026, 1, 31), date(2026, 3, 1)),  # perhaps on 29 February
        (PartialDate(2009, 2), date(2027, 1, 31), date(2027, 2, 28)),
        (date(2008, 4, 12), date(2026, 4, 11), date(2026, 4, 12)),
    ],
)
def test_between_the_first_and_the_last_possible_birthday_there_is_no_answer(
    known: BirthDate, last_no: date, first_yes: date
) -> None:
    day = timedelta(days=1)
    between = None if isinstance(known, PartialDate) else True
    assert [claims.has_reached(18, known, today) for today in (last_no, last_no + day, first_yes)] == [
        False,
        between,
        True,
    ]
    assert claims.has_reached(18, known, first_yes - day) == (None if between is None else False)


@given(ANY, AGES)
def test_without_a_day_an_age_is_only_there_if_it_is_on_every_day(known: BirthDate, years: int) -> None:
    path = (AGE, str(years))
    assert claims.held(person(known), [path]) == ([path] if isinstance(known, date) else [])


@given(st.data(), PARTIAL)
def test_what_answers_say_together_leaves_every_possible_birth_date_possible(
    data: st.DataObject, known: PartialDate
) -> None:
    answers = data.draw(st.lists(answers_near_to(known), max_size=6))
    said = born(known, answers)
    assert said.first is None or said.first <= birth_dates.earliest(known)
    assert said.last is None or birth_dates.latest(known) <= said.last
    assert all(fact.first != fact.last for fact in facts(person(known), [], answers, today=TODAY))


@given(st.data(), PARTIAL)
def test_what_answers_say_together_is_what_those_say_that_were_given(
    data: st.DataObject, known: PartialDate
) -> None:
    answers = data.draw(st.lists(answers_near_to(known), max_size=6))
    given_ones = [
        each for each in answers if claims.has_reached(int(each.path[1]), known, each.day) is not None
    ]
    somebody = data.draw(st.sampled_from(list(birth_dates.possible_days(known))))
    assert born(known, answers) == born(known, given_ones) == born(somebody, given_ones)


@pytest.mark.parametrize(
    ("known", "english", "spanish"),
    [
        (date(1990, 4, 12), "12 April 1990", "12 de abril de 1990"),
        (PartialDate(1990, 4), "April 1990", "abril de 1990"),
        (PartialDate(1990), "1990", "1990"),
    ],
)
def test_people_read_what_is_known(known: BirthDate, english: str, spanish: str) -> None:
    for language, words in (("en-gb", english), ("es", spanish)):
        with override(language):
            assert claims.display(("birth_date",), person(known), today=TODAY) == words


@given(ANY)
def test_relying_parties_read_what_is_known_and_openid_clients_a_day_or_a_year(known: BirthDate) -> None:
    value = claims.values(person(known), [("birth_date",)], today=TODAY)["birth_date"]
    assert value == known.isoformat()
    shown = claims.openid_value(("birth_date",), value)
    assert shown == (value if isinstance(known, date) else str(known.year))


@given(ANY, ANY)
def test_openid_clients_ask_for_the_value_that_they_would_get(known: BirthDate, other: BirthDate) -> None:
    shown, asked = (claims.openid_value(("birth_date",), born.isoformat()) for born in (known, other))
    assert known.isoformat() in claims.openid_values(("birth_date",), shown)
    assert (known.isoformat() in claims.openid_values(("birth_date",), asked)) == (shown == asked)


def test_there_is_no_such_month() -> None:
    with pytest.raises(ValueError, match="month"):
        PartialDate(1990, 13)
