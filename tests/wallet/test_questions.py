"""The claims that answer one question each: any age, any country or union."""

from datetime import date, timedelta
from typing import Any

import pytest
from django.utils import translation
from hypothesis import given
from hypothesis import strategies as st

from wallet.credential import claims, countries
from wallet.credential.claims import Identity

births = st.dates(date(1900, 1, 1), date(2026, 1, 1))
days = st.dates(date(2026, 1, 1), date(2046, 12, 31))
ages = st.integers(1, claims.HIGHEST_AGE)
codes = st.sampled_from([code for code, _name in countries.countries()])


def answer(identity: Identity, *path: str, today: date = date(2026, 11, 25)) -> Any:
    group, name = path
    return claims.values(identity, [path], today=today).get(group, {}).get(name)


def born(day: date, *nationalities: str) -> Identity:
    return Identity("Ada", "Lovelace", day, nationalities)


@given(births, days, ages)
def test_an_age_is_reached_on_the_birthday_and_not_a_day_before(day: date, today: date, years: int) -> None:
    try:
        birthday = day.replace(year=day.year + years)
    except ValueError:  # of 29 February
        birthday = date(day.year + years, 3, 1)

    assert answer(born(day), "age_equal_or_over", str(years), today=birthday) is True
    assert answer(born(day), "age_equal_or_over", str(years), today=birthday - timedelta(1)) is False
    assert answer(born(day), "age_equal_or_over", str(years), today=today) is (today >= birthday)


@given(
    st.lists(codes, min_size=1, max_size=10, unique=True), st.sampled_from([*countries.UNIONS, "ES", "US"])
)
def test_a_nationality_is_in_a_union_if_one_of_them_is(nationalities: list[str], asked: str) -> None:
    said = answer(born(date(1990, 1, 1), *nationalities), "nationality_in", asked)

    assert said is any(code in countries.members(asked) for code in nationalities)


def test_nothing_is_said_of_a_nationality_that_nobody_knows() -> None:
    nobody_knows = born(date(1990, 1, 1))

    assert answer(nobody_knows, "nationality_in", "EU") is None
    assert claims.held(nobody_knows, [("nationality_in", "EU"), ("age_equal_or_over", "16")]) == [
        ("age_equal_or_over", "16")
    ]


def test_the_unions_have_their_members() -> None:
    sizes = {union: len(members) for union, (_name, members) in countries.UNIONS.items()}

    assert sizes == {"EU": 27, "EEA": 30, "CH-EEA": 31}
    assert all(countries.is_country(code) for code in countries.members("CH-EEA"))
    assert countries.members("CH-EEA") - countries.members("EEA") == {"CH"}
    assert countries.members("EEA") - countries.members("EU") == {"IS", "LI", "NO"}
    assert "GB" not in countries.members("EEA")


@pytest.mark.parametrize(
    "name",
    [
        *("age_equal_or_over.0", "age_equal_or_over.121", "age_equal_or_over.016", "age_equal_or_over.-1"),
        *("age_equal_or_over.1٨", "age_equal_or_over.18.1", "age_equal_or_over", "age_equal_or_over."),
        *(
            "nationality_in.es",
            "nationality_in.ZZ",
            "nationality_in.UN",
            "nationality_in.EEA ",
            "nationality_in",
        ),
        *("birth_date.EU", "", ".", "age_equal_or_over.*", "9" * 10_000),
    ],
)
def test_what_asks_nothing_is_no_claim(name: str) -> None:
    assert not claims.is_named(name)
    with pytest.raises(KeyError):
        claims.named(name)


@given(ages)
def test_every_age_has_a_name_and_says_itself(years: int) -> None:
    path = claims.named(f"age_equal_or_over.{years}")

    assert path == ("age_equal_or_over", str(years))
    assert str(claims.labels([path])[0]) == f"Aged {years} or over"


@pytest.mark.parametrize(
    ("language", "asked", "label"),
    [
        ("en-gb", "ES", "Nationality: Spain"),
        ("en-gb", "CH-EEA", "Nationality: Switzerland or a country of the European Economic Area"),
        ("es", "ES", "Nacionalidad: España"),
        ("es", "EU", "Nacionalidad: un país de la Unión Europea"),
    ],
)
def test_a_question_about_nationality_is_said_in_the_language_of_the_page(
    language: str, asked: str, label: str
) -> None:
    with translation.override(language):
        assert str(claims.labels([("nationality_in", asked)])[0]) == label


@given(st.from_regex(r"[a-z_]{0,20}(\.[\w-]{0,8}){0,3}", fullmatch=True) | st.text(max_size=40))
def test_a_name_is_that_of_its_path_or_of_nothing(name: str) -> None:
    if claims.is_named(name):
        assert ".".join(claims.named(name)) == name
        assert claims.claim(claims.named(name)).path == claims.named(name)
    else:
        with pytest.raises(KeyError):
            claims.named(name)


def test_a_family_is_permitted_as_a_whole_or_one_by_one() -> None:
    sixteen, eighteen = ("age_equal_or_over", "16"), ("age_equal_or_over", "18")

    assert claims.permitted(sixteen, {claims.WHOLE_FAMILIES["age_equal_or_over.*"]})
    assert claims.permitted(sixteen, {sixteen})
    assert not claims.permitted(sixteen, {eighteen, claims.WHOLE_FAMILIES["nationality_in.*"]})


def test_a_nationality_that_may_follow_from_an_answer_is_not_said_to_be_kept() -> None:
    assert "Nationality" in map(str, claims.not_shared([("age_equal_or_over", "16")]))
    assert "Nationality" not in map(str, claims.not_shared([("nationality_in", "GB")]))
