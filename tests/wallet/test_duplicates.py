"""Recognising the same person: which names are the same, which are not, and that a key is needed for it."""

import unicodedata
from datetime import date

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.people import evidence_of
from wallet.credential import birth_dates
from wallet.credential.claims import Identity
from wallet.identity import duplicates
from wallet.identity.duplicates import _texts, folded

BORN = date(1990, 4, 1)


def same(one: tuple[str, str], other: tuple[str, str]) -> bool:
    texts = [set(_texts(Identity(*names, BORN), None)) for names in (one, other)]
    return bool(texts[0] & texts[1])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("Sinéad", "O’Neill"), ("SINEAD", "O'NEILL")),
        (("Jürgen", "Müller"), ("JURGEN", "MULLER")),
        (("Jürgen", "Müller"), ("JUERGEN", "MUELLER")),
        (("Jørgen", "Ågård"), ("JOERGEN", "AAGAARD")),
        (("Łukasz", "Wąs"), ("LUKASZ", "WAS")),
        (("Anna Maria", "Weiß"), ("Anna-Maria", "WEISS")),
        (("İpek", "Işık"), ("IPEK", "ISIK")),
        (("Nguyễn", "Văn"), ("VAN", "NGUYEN")),
        (("ＡＮＮＡ", "ＬＥＥ"), ("Anna", "Lee")),  # noqa: RUF001 (full-width letters)
    ],
)
def test_one_name_in_two_spellings_is_the_same(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert same(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("कि", ""), ("क", "")),
        (("がく", ""), ("かく", "")),
        (("Anna", "Lee"), ("Anne", "Lee")),
        (("Юрий", "Иванов"), ("Yuri", "Ivanov")),
    ],
)
def test_marks_that_are_vowels_are_kept(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert not same(one, other)


def test_another_birth_date_is_another_person() -> None:
    one, other = (set(_texts(Identity("Anna", "Lee", born), None)) for born in (BORN, date(1990, 4, 2)))
    assert not one & other


@given(
    st.dates(date(1990, 1, 1), date(1991, 12, 31)),
    st.dates(date(1990, 1, 1), date(1991, 12, 31)),
    st.sampled_from([4, 7, 10]),
    st.sampled_from([4, 7, 10]),
)
def test_a_partly_known_birth_date_may_be_that_of_anybody_whose_date_it_can_be(
    one: date, other: date, known_of_one: int, known_of_other: int
) -> None:
    stored = birth_dates.as_stored(one.isoformat()[:known_of_one])
    asked = birth_dates.as_stored(other.isoformat()[:known_of_other])
    assert stored is not None
    assert asked is not None
    kept = set(_texts(Identity("Anna", "Lee", stored), None))
    sought = set(_texts(Identity("Anna", "Lee", asked), None, births=birth_dates.compatible(asked)))
    may_be_one = not set(birth_dates.possible_days(stored)).isdisjoint(birth_dates.possible_days(asked))
    assert bool(kept & sought) == may_be_one


def test_a_number_counts_in_the_digits_of_any_script_and_as_releases_before_wrote_it() -> None:
    identity = Identity("Anna", "Lee", BORN)
    written, plain = (
        set(duplicates._proofs(evidence_of(document_number=number))) for number in ("P١٢٣٤", "P1234")
    )
    assert plain == {"document:passport:IE:p1234"}
    assert written == plain | {"document:passport:IE:p١٢٣٤"}
    assert written <= set(_texts(identity, evidence_of(document_number="P١٢٣٤")))


def test_the_number_of_a_document_is_compared_with_its_country_and_kind() -> None:
    def texts(**facts: str) -> set[str]:
        evidence = evidence_of(document_number="P 12-34", **facts)
        return {text for text in _texts(Identity("A", "B", BORN), evidence) if text.startswith("document")}

    assert texts() == texts()
    assert not texts() & texts(issuing_country="GB")
    assert not texts() & texts(document_kind="idcard")


def test_the_digest_depends_on_the_key() -> None:
    keys = duplicates._keys(("one secret", "another"))
    assert len({duplicates._digest(key, "name") for key in keys}) == 2


@example("\u0591")  # a mark without a letter
@given(st.text(max_size=60))
def test_folding_takes_any_text_and_leaves_letters_digits_and_vowels_only(text: str) -> None:
    assert all(c.isalnum() or unicodedata.category(c)[0] == "M" for c in folded(text))
