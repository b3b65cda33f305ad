"""Address, place of birth and document: read leniently from others, strictly from what is stored."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.people import DETAILS
from wallet.credential import details
from wallet.credential.details import MAX_FORMATTED, MAX_TEXT, MEMBERS

GROUPS = st.sampled_from(sorted(MEMBERS))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def read(group: str, written: Any) -> details.Details:
    return details.read({group: written})


NAMES = sorted({name for members in MEMBERS.values() for name in members})
WRITTEN = st.dictionaries(
    st.sampled_from([*NAMES, "other"]),
    st.text(max_size=20) | st.sampled_from(["GB", "gb", "Ireland", "passport", "2030-02-28", "a\r\nb", ""]),
)


@given(GROUPS, WRITTEN)
def test_what_was_read_can_be_stored_and_reading_it_again_changes_nothing(group: str, written: Any) -> None:
    found = read(group, written)
    assert details.check(found) == found
    assert found.keys() <= {group}
    if found:
        assert read(group, found[group]) == found
        assert found[group].keys() - {"formatted"} <= written.keys()


@given(GROUPS, JSON | st.dictionaries(st.sampled_from(NAMES), JSON))
def test_whatever_somebody_else_wrote_is_read_without_an_error(group: str, written: Any) -> None:
    details.check(read(group, written))


@given(JSON | st.dictionaries(GROUPS, JSON | st.dictionaries(st.sampled_from(NAMES), JSON)))
def test_whatever_is_stored_is_taken_as_it_is_or_refused_by_one_error(stored: Any) -> None:
    try:
        assert details.check(stored) is stored
    except ValueError:
        return
    assert stored.keys() <= MEMBERS.keys()
    assert all(members and members.keys() <= set(MEMBERS[group]) for group, members in stored.items())
    texts = [text for members in stored.values() for text in members.values()]
    assert all(text and text == text.strip() and len(text) <= MAX_FORMATTED for text in texts)


@pytest.mark.parametrize(
    "stored",
    [
        None,
        [],
        {"email": {"locality": "London"}},
        {"address": {}},
        {"address": "London"},
        {"address": {"number": "12"}},
        {"address": {"locality": ""}},
        {"address": {"locality": 7}},
        {"address": {"locality": "London "}},
        {"address": {"locality": "Lon\ndon"}},
        {"address": {"locality": "Lon\u202edon"}},
        {"address": {"locality": "A" * (MAX_TEXT + 1)}},
        {"address": {"formatted": "A" * (MAX_FORMATTED + 1)}},
        {"address": {"formatted": "A\n\nB"}},
        {"address": {"country": "gb"}},
        {"address": {"country": "GBR"}},
        {"document": {"issuing_country": "Ireland"}},
        {"document": {"type": "library card"}},
        {"document": {"expiry_date": "2030-02-30"}},
        {"document": {"expiry_date": "20300228"}},
    ],
)
def test_what_is_not_as_it_was_stored_is_refused(stored: Any) -> None:
    assert details.check(DETAILS)
    assert details.check({"address": {"formatted": "A" * MAX_FORMATTED, "locality": "A" * MAX_TEXT}})
    with pytest.raises(ValueError, match="details|member") as refused:
        details.check(stored)
    assert "London" not in str(refused.value)


@pytest.mark.parametrize(
    ("group", "written", "found"),
    [
        ("address", {"street_address": " 1  Main St\r\nFlat 2 "}, {"street_address": "1 Main St\nFlat 2"}),
        ("address", {"formatted": "1 Main St\n\n Flat 2", "sub": 7}, {"formatted": "1 Main St\nFlat 2"}),
        ("address", {"locality": "Ko\u0308ln", "country": "de"}, {"locality": "Köln", "country": "DE"}),
        ("address", {"locality": "Paris", "country": "France"}, {"locality": "Paris", "country": "FR"}),
        ("address", {"locality": "Zenda", "country": "Ruritania"}, {"locality": "Zenda"}),
        ("address", {"locality": "Zenda", "region": None, "postal_code": ""}, {"locality": "Zenda"}),
        ("place_of_birth", {"locality": "Two\nlines"}, {"locality": "Two lines"}),
        ("document", {"type": "passport", "number": "A1"}, {"type": "passport", "number": "A1"}),
    ],
)
def test_what_others_wrote_is_brought_into_our_form(group: str, written: Any, found: Any) -> None:
    members = read(group, written)[group]
    assert {name: members[name] for name in found} == found
    assert members.keys() - found.keys() <= {"formatted"}


@pytest.mark.parametrize(
    ("group", "written"),
    [
        ("address", None),
        ("address", "1 Main Street"),
        ("address", {}),
        ("address", {"locality": "London", "street_address": 7}),
        ("address", {"locality": "London", "street_address": "A" * (MAX_FORMATTED + 1)}),
        ("address", {"locality": "London", "street_address": "1 \u202e Street"}),
        ("place_of_birth", {"country": "Ruritania"}),
        ("place_of_birth", {"locality": "A" * (MAX_TEXT + 1), "country": "GB"}),
        ("document", {"type": "library card", "number": "1"}),
        ("document", {"number": "1", "expiry_date": "31.12.2030"}),
    ],
)
def test_a_group_with_a_member_that_cannot_be_understood_is_left_out(group: str, written: Any) -> None:
    assert read(group, written) == {}


def test_an_address_without_its_lines_gets_them() -> None:
    parts = {name: text for name, text in DETAILS["address"].items() if name != "formatted"}
    assert read("address", parts) == {"address": DETAILS["address"]}
    assert read("address", {"postal_code": "1010"})["address"]["formatted"] == "1010"
    assert read("address", {"formatted": "Here", **parts})["address"]["formatted"] == "Here"
