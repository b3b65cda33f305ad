"""The rules of one scope: what is accepted, what is refused and why, and the text that is kept of it."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presentation.dcql.queries import BASIC
from presentation.scopes.records import (
    LONGEST_TITLE,
    LONGEST_URN,
    THE_BASIC_SCOPE,
    ScopeError,
    ScopeRecord,
    from_text,
)
from wallet.credential.claims import NAMES

URN = "urn:example:scope:address"
VALID: dict[str, Any] = {"urn": URN, "title": "Address", "required": ("given_name",), "optional": ("email",)}

REFUSED: dict[str, tuple[str, dict[str, Any]]] = {
    "no URN": ("urn", {"urn": ""}),
    "not a URN": ("urn", {"urn": "address"}),
    "a URN without a last part": ("urn", {"urn": "urn:example:"}),
    "a space": ("urn", {"urn": "urn:example:an address"}),
    "a line break at the end": ("urn", {"urn": URN + "\n"}),
    "a quotation mark": ("urn", {"urn": 'urn:example:"address"'}),
    "letters of other scripts": ("urn", {"urn": "urn:example:адрес"}),
    "a last part that is no id": ("urn", {"urn": "urn:example:v1.0"}),
    "too long a URN": ("urn", {"urn": "urn:example:" + "a" * (LONGEST_URN - 11)}),
    "no title": ("title", {"title": ""}),
    "too long a title": ("title", {"title": "a" * (LONGEST_TITLE + 1)}),
    "a title of two lines": ("title", {"title": "An\naddress"}),
    "a title that turns around": ("title", {"title": "An \u202eaddress"}),
    "nothing required": ("required_claims", {"required": ()}),
    "an unknown claim": ("required_claims", {"required": ("shoe_size",)}),
    "an object that holds claims": ("required_claims", {"required": ("verification",)}),
    "an unknown optional claim": ("optional_claims", {"optional": ("shoe_size",)}),
    "no name": ("required_claims", {"required": (18,)}),
    "a claim twice": ("required_claims", {"required": ("email", "email"), "optional": ()}),
    "required and optional": ("optional_claims", {"required": ("email",)}),
    "ten thousand claims": ("optional_claims", {"optional": ("email",) * 10_000}),
}


@pytest.mark.parametrize(("part", "changes"), REFUSED.values(), ids=REFUSED.keys())
def test_a_scope_that_breaks_a_rule_is_refused_and_the_part_is_named(part: str, changes: Any) -> None:
    with pytest.raises(ScopeError) as refused:
        ScopeRecord(**(VALID | changes))

    assert refused.value.part == part
    assert len(str(refused.value)) < 300


def test_the_last_part_of_the_urn_is_the_id_of_the_query() -> None:
    scope = ScopeRecord(**VALID)

    assert scope.query.id == scope.query_id == "address"
    assert [claim.path for claim in scope.query.claims] == [("given_name",)]
    assert [claim.path for claim in scope.query.optional] == [("email",)]


def test_the_basic_scope_is_that_of_the_contract() -> None:
    assert THE_BASIC_SCOPE.urn == BASIC
    assert THE_BASIC_SCOPE.required == ("given_name", "family_name", "age_equal_or_over.18")
    assert THE_BASIC_SCOPE.optional == ()


@given(
    st.one_of(st.text(max_size=210), st.from_regex(r"urn:[a-z]{2,5}(:[a-z.-]{0,9}){0,3}:[A-Za-z_-]{0,9}")),
    st.text(max_size=110),
    st.lists(st.one_of(st.sampled_from(sorted(NAMES)), st.text(max_size=5)), max_size=6),
    st.lists(st.sampled_from(sorted(NAMES)), max_size=6),
)
def test_whatever_is_accepted_keeps_all_rules_and_survives_the_text(
    urn: str, title: str, required: list[str], optional: list[str]
) -> None:
    try:
        scope = ScopeRecord(urn, title, tuple(required), tuple(optional))
    except ScopeError:
        return
    assert re.fullmatch(r"[\x21\x23-\x5b\x5d-\x7e]+", urn, re.ASCII)  # RFC 6749 §3.3, scope-token
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,100}", scope.query_id)  # OpenID4VP 1.0 §6.1
    assert len(set(scope.claims)) == len(required) + len(optional) > 0
    assert from_text(f"[{scope.text}]") == {urn: scope}


@pytest.mark.parametrize("text", ["", "{", "[[]]", '[["urn:a:b","t",["x"],[]]]', "{}1", "[1]", "[" * 100_000])
def test_a_text_that_was_not_written_here_is_refused(text: str) -> None:
    with pytest.raises(ScopeError):
        from_text(text)
