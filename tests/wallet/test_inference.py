"""What several answers say together, for any birth date, day and nationality."""

import re
from datetime import date, timedelta
from typing import Any

import pytest
from django.template.loader import render_to_string
from django.utils.translation import override
from hypothesis import example, given
from hypothesis import strategies as st

from wallet.credential.claims import Identity, age, claim
from wallet.credential.countries import UNIONS, members
from wallet.credential.inference import (
    AGE,
    NATIONALITY,
    Born,
    SharedClaim,
    born,
    facts,
    last_birth,
    questions_of,
    singled_out,
)

BIRTHS = st.dates(date(1900, 1, 1), date(2024, 12, 31)) | st.sampled_from(
    [date(1988, 2, 29), date(2000, 2, 29), date(1989, 1, 1), date(1989, 12, 31), date(1900, 2, 28)]
)
DAYS = st.dates(date(2025, 1, 1), date(2060, 12, 31)) | st.sampled_from(
    [date(2028, 2, 29), date(2027, 2, 28), date(2027, 3, 1), date(2027, 1, 1), date(2026, 12, 31)]
)
AGES = st.integers(1, 120)
ANSWERS = st.lists(st.builds(lambda years, day: over(years, day), AGES, DAYS), max_size=6)
COUNTRIES = ("AT", "DE", "CH", "IS", "LI", "NO", "GB", "US")
CODES = st.sampled_from([*COUNTRIES, *UNIONS])
TODAY = date(2027, 5, 3)


def over(years: int, day: date = TODAY) -> SharedClaim:
    return SharedClaim((AGE, str(years)), day)


def whether(code: str, day: date = TODAY) -> SharedClaim:
    return SharedClaim((NATIONALITY, code), day)


def person(birth_date: date = date(1990, 2, 1), *nationalities: str) -> Identity:
    return Identity("Alice", "Archer", birth_date, nationalities)


def said(
    identity: Identity, earlier: list[SharedClaim], asked: list[SharedClaim], today: date = TODAY
) -> list[str]:
    """As people read it."""
    with override("en-gb"):
        page = render_to_string(
            "consent/adds_up.html", {"facts": facts(identity, earlier, asked, today=today)}
        )
        return [found.strip() for found in re.findall("(?s)<p class=.notice adds-up.>(.*?)</p>", page)]


@given(BIRTHS, AGES, DAYS)
@example(date(2000, 2, 29), 18, date(2018, 2, 28))
@example(date(2000, 2, 29), 18, date(2018, 3, 1))
@example(date(2000, 3, 1), 28, date(2028, 2, 29))
@example(date(1999, 3, 1), 29, date(2028, 2, 29))
@example(date(1999, 2, 28), 29, date(2028, 2, 29))
@example(date(2000, 1, 1), 18, date(2018, 1, 1))
@example(date(2000, 1, 1), 18, date(2017, 12, 31))
def test_whether_an_age_is_reached_depends_on_the_last_birth_date(
    born_on: date, years: int, day: date
) -> None:
    assert (age(born_on, day) >= years) is (born_on <= last_birth(years, day))


@given(BIRTHS, ANSWERS)
@example(date(1990, 2, 1), [over(37, date(2027, 2, 1))])
def test_what_answers_say_is_true_of_exactly_those_who_would_answer_the_same(
    born_on: date, answers: list[SharedClaim]
) -> None:
    found, said = born(born_on, answers), {age(born_on, one.day) >= int(one.path[1]) for one in answers}
    assert (found.first is not None, found.last is not None) == (False in said, True in said)
    assert (found.first or born_on) <= born_on <= (found.last or born_on)

    def same(other: date) -> bool:
        one, two = person(born_on), person(other)
        return all(
            claim(each.path).value(one, each.day) == claim(each.path).value(two, each.day) for each in answers
        )

    for end, beyond in ((found.first, -1), (found.last, 1)):
        if end is not None:
            assert same(end)
            assert not same(end + timedelta(days=beyond))


@given(BIRTHS, ANSWERS, ANSWERS)
def test_more_answers_never_say_less(
    born_on: date, earlier: list[SharedClaim], asked: list[SharedClaim]
) -> None:
    before, after = born(born_on, earlier), born(born_on, [*earlier, *asked])
    assert before.first is None or (after.first is not None and after.first >= before.first)
    assert before.last is None or (after.last is not None and after.last <= before.last)


@given(BIRTHS, ANSWERS, ANSWERS, DAYS)
def test_there_is_a_sentence_only_for_something_new_that_has_two_ends(
    born_on: date, earlier: list[SharedClaim], asked: list[SharedClaim], today: date
) -> None:
    before, after = born(born_on, earlier), born(born_on, [*earlier, *asked])
    new = after != before and after.first is not None and after.last is not None
    assert len(said(person(born_on), earlier, asked, today)) == new


@given(BIRTHS, DAYS, st.integers(1, 119))
def test_two_ages_next_to_each_other_say_how_old_somebody_is(born_on: date, today: date, years: int) -> None:
    asked = [over(years, today), over(years + 1, today)]
    found = said(person(born_on), [], asked, today)
    exactly = [f"Together, these answers say that you are {years}."]
    assert found == (exactly if age(born_on, today) == years else [])


@given(BIRTHS, ANSWERS, DAYS)
def test_nothing_is_added_for_those_who_know_the_birth_date(
    born_on: date, answers: list[SharedClaim], today: date
) -> None:
    known = SharedClaim(("birth_date",), today)
    assert said(person(born_on), [known], answers, today) == []
    assert said(person(born_on), answers, [known, over(18)], today) == []


@pytest.mark.parametrize(
    ("earlier", "asked", "since", "sentence"),
    [
        ([over(38)], [over(37)], "3 May 2027", "you are 37."),
        (
            [over(37, date(2027, 1, 31)), over(65, date(2027, 1, 1))],
            [over(37)],
            "31 January 2027",
            "you are 37 and were born between 1 February 1990 and 3 May 1990.",
        ),
        (
            [over(38, date(2027, 10, 1))],
            [over(36, date(2026, 6, 1))],
            "1 October 2027",
            "you were born between 2 October 1989 and 1 June 1990.",
        ),
        (
            [over(37, date(2027, 1, 31))],
            [over(37, date(2027, 2, 1))],
            "31 January 2027",
            "you were born on 1 February 1990.",
        ),
        ([over(65, date(2027, 1, 1))], [over(18)], "1 January 2027", "you are between 18 and 65."),
        ([over(38, date(2027, 3, 3))], [over(37)], "3 March 2027", "you are between 37 and 38."),
        ([over(65)], [over(18), over(40)], "", "you are between 18 and 39."),
    ],
)
def test_sentences_about_an_age(
    earlier: list[SharedClaim], asked: list[SharedClaim], since: str, sentence: str
) -> None:
    lead = f"Together with what you shared on {since}, this says" if since else "Together, these answers say"
    assert said(person(), earlier, asked) == [f"{lead} that {sentence}"]


@pytest.mark.parametrize(
    ("earlier", "asked"),
    [
        ([], []),
        ([], [over(18)]),
        ([over(18, date(2026, 1, 1))], [over(18)]),
        ([over(18, date(2026, 1, 1)), over(65, date(2026, 1, 1))], [over(18)]),
        ([over(37)], [over(37)]),
        ([], [SharedClaim(("given_name",), TODAY)]),
    ],
)
def test_no_sentence_where_together_they_say_no_more(
    earlier: list[SharedClaim], asked: list[SharedClaim]
) -> None:
    assert said(person(), earlier, asked) == []


@given(st.lists(st.sampled_from(COUNTRIES), max_size=3, unique=True), st.lists(CODES, max_size=6))
def test_whoever_is_singled_out_has_that_nationality_as_all_have_who_would_answer_the_same(
    own: list[str], codes: list[str]
) -> None:
    found = singled_out(person(date(1990, 2, 1), *own), [whether(code) for code in codes])
    assert found <= set(own)
    assert not found & set(codes)
    every = set().union(*(members(code) for code in UNIONS), COUNTRIES)
    answers = [not members(code).isdisjoint(own) for code in codes]
    for other in every:  # somebody with one nationality who would answer the same
        if [other in members(code) for code in codes] == answers:
            assert found <= {other}


def test_a_union_and_what_is_no_single_out_a_nationality() -> None:
    swiss, heidi = "Switzerland is a nationality of yours.", person(date(1990, 2, 1), "CH")
    asked, day = [whether("CH-EEA"), whether("EEA")], date(2027, 3, 3)
    assert said(heidi, [], asked) == [f"Together, these answers say that {swiss}"]
    later = f"Together with what you shared on 3 March 2027, this says that {swiss}"
    assert said(heidi, [whether("EEA", day)], [whether("CH-EEA")]) == [later]
    assert said(heidi, [whether("US", day)], asked) == [f"Together, these answers say that {swiss}"]
    assert said(heidi, asked, asked) == []
    assert said(heidi, [whether("CH")], asked) == []
    assert said(heidi, [], [*asked, SharedClaim(("nationalities",), TODAY)]) == []
    assert said(person(date(1990, 2, 1), "DE"), [], asked) == []
    assert said(person(), [], asked) == []


def test_an_age_and_a_nationality_are_two_sentences() -> None:
    asked = [over(37), over(38), whether("CH-EEA"), whether("EEA")]
    assert len(said(person(date(1990, 2, 1), "CH"), [], asked)) == 2


def test_without_answers_nothing_is_known() -> None:
    assert born(date(1990, 2, 1), []) == Born(None, None)


@pytest.mark.parametrize(
    ("path", "values", "questions"),
    [
        (("age_equal_or_over", "50"), [True], [("age_equal_or_over", "50")]),
        (("birth_date",), ["1990-02-01"], [("birth_date",)]),
        (("nationalities",), [], [("nationalities",)]),
        (("nationalities",), ["DE", "FR"], [("nationality_in", "DE"), ("nationality_in", "FR")]),
        (("nationalities",), ["DE", "no country"], [("nationalities",)]),
        (("nationalities",), [1], [("nationalities",)]),
    ],
)
def test_a_condition_on_nationalities_asks_of_each_country(path: Any, values: Any, questions: Any) -> None:
    assert questions_of(path, values) == questions
