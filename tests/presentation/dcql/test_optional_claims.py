"""Which claims of a query the holder may leave off, and when an answer tells which others were possible."""

import json
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presentation.dcql.evaluation import can_be_left_out, has_alternatives, same_for_everyone, select
from presentation.dcql.parsing import parse
from presentation.dcql.queries import Query
from presentation.scopes.records import THE_BASIC_SCOPE, ScopeRecord
from tests.presentation.dcql.offers import OFFER, WHOLE, credential, found, path

A, B, C = (
    path("given_name", id="a"),
    path("family_name", id="b"),
    path("birth_date", id="c"),
)


def optional(claim_sets: list[list[str]], *claims: Any) -> list[str]:
    selection = found(credential(*(claims or (A, B, C)), claim_sets=claim_sets))
    assert selection
    return [name for (name,) in selection.optional]


@pytest.mark.parametrize(
    ("claim_sets", "expected"),
    [
        ([["a", "b", "c"]], []),
        ([["a", "b"], ["a"]], ["family_name"]),
        ([["a", "b", "c"], ["a", "b"], ["a", "c"], ["a"]], ["family_name", "birth_date"]),
        ([["a", "b", "c"], ["a"]], []),  # no set has only one of b and c
        ([["a", "b", "c"], ["a", "b"], ["a"]], ["birth_date"]),  # without b, c is never accepted
        ([["a"], ["a", "b"]], []),  # the first set is what is preferred, and there is no smaller one
        ([["a", "b"], ["b"], ["a"]], ["given_name"]),  # not both, because one of them must remain
    ],
)
def test_a_claim_is_optional_if_every_choice_is_a_set_of_the_query(
    claim_sets: list[list[str]], expected: list[str]
) -> None:
    assert optional(claim_sets) == expected


def test_a_claim_that_another_query_needs_is_required() -> None:
    first = credential(A, B, claim_sets=[["a", "b"], ["a"]], id="first")
    second = credential(path("family_name"), id="second")

    selection = found(first, second)

    assert selection
    assert selection.claims == (("given_name",), ("family_name",))
    assert selection.optional == ()


def test_an_object_is_no_single_choice() -> None:
    ages = path("age_equal_or_over", id="b")

    assert optional([["a", "b"], ["a"]], A, ages) == []


def test_the_optional_claims_of_a_scope_are_those_that_the_credential_has() -> None:
    scope = ScopeRecord("urn:example:x", "X", ("given_name",), ("nationalities", "verification.time"))

    selection = select(Query((THE_BASIC_SCOPE.query, scope.query)), OFFER, WHOLE)

    assert selection
    assert selection.optional == (("nationalities",),)
    assert selection.query_ids == ("basic", "x")


IDS = st.lists(st.sampled_from("abcdef"), unique=True, min_size=1)


@given(IDS, st.lists(IDS, max_size=20))
def test_every_choice_that_is_offered_is_a_set_of_the_query(
    option: list[str], others: list[list[str]]
) -> None:
    sets = [option, *others]
    free = can_be_left_out(option, sets)

    for number in range(len(free) + 1):
        for left_out in combinations(free, number):
            assert set(option) - set(left_out) in [set(ids) for ids in sets]


def query(*credentials: dict[str, Any], **more: Any) -> Query:
    return parse(json.dumps({"credentials": list(credentials)} | more))


LICENCE = {"id": "mdl", "format": "mso_mdoc", "meta": {"doctype_value": "org.iso.18013.5.1.mDL"}}
SEVERAL = [{"options": [["mdl"], ["a"]]}]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (query(credential(A)), False),
        (query(credential(A, B, claim_sets=[["a", "b"], ["a"]])), False),  # the person's own choice
        (query(credential(A, B, claim_sets=[["a"], ["b"]])), True),
        (query(credential(A, B, C, claim_sets=[["a", "b", "c"], ["a"]])), True),
        (query(credential(A), LICENCE, credential_sets=SEVERAL), True),
        (query(credential(A), credential_sets=[{"options": [["a"]]}]), False),
        (query(credential(A), credential_sets=[{"options": [["a"]], "required": False}]), True),
        (Query((THE_BASIC_SCOPE.query,)), False),
    ],
)
def test_alternatives_are_answers_that_the_person_does_not_choose(asked: Query, expected: bool) -> None:
    assert has_alternatives(asked) is expected


def test_a_scope_with_a_claim_that_not_everybody_has_depends_on_the_credential() -> None:
    scope = ScopeRecord("urn:example:x", "X", ("given_name",), ("verification.time",))
    offer = type(OFFER)(
        OFFER.vct, OFFER.authority_key_ids, OFFER.claims, OFFER.plain, [("verification", "time")]
    )

    assert not same_for_everyone(Query((scope.query,)), offer)
    assert same_for_everyone(Query((THE_BASIC_SCOPE.query,)), offer)
