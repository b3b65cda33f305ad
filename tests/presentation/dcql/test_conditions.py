"""What the answer to a DCQL query tells beside the claims in it, by examples and as a rule."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presentation.dcql.conditions import told_beside
from presentation.dcql.evaluation import Offer, covered, is_there, select
from presentation.dcql.parsing import parse
from presentation.dcql.queries import ClaimsQuery, CredentialQuery, CredentialSet, Query

AGE = "age_equal_or_over"
PLAIN = {"iss": "https://wallet.example", "vct": "type"}
CLAIMS = (
    ("given_name",),
    ("nationalities",),
    ("email",),
    (AGE, "20"),
    (AGE, "50"),
    ("address", "locality"),
    ("address", "country"),
)
OFFER = Offer("type", {"key"}, CLAIMS, PLAIN, arrays=[("nationalities",)])
WHOLE: dict[str, Any] = {
    **PLAIN,
    "given_name": "Alice",
    "nationalities": ["GB"],
    "email": "alice@example.org",
    AGE: {"20": True, "50": False},
}
META = {"format": "dc+sd-jwt", "meta": {"vct_values": ["type"]}}
OTHER_TYPE = {"format": "dc+sd-jwt", "meta": {"vct_values": ["other"]}}
LICENCE = {"format": "mso_mdoc", "meta": {"doctype_value": "org.iso.18013.5.1.mDL"}}
OVER_50 = {"path": [AGE, "50"], "id": "over_50", "values": [True]}
OVER_20 = {"path": [AGE, "20"], "id": "over_20", "values": [True]}
NAME = {"path": ["given_name"], "id": "name"}
EMAIL = {"path": ["email"], "id": "email"}
TOWN = {"path": ["address", "locality"], "id": "town"}
ADDRESS = {"path": ["address"], "id": "address"}
GERMAN = {"path": ["nationalities", None], "id": "german", "values": ["DE"]}


def one(*claims: dict[str, Any], sets: list[list[str]] | None = None) -> dict[str, Any]:
    more = {"claim_sets": sets} if sets else {}
    return {"credentials": [{"id": "a", **META, "claims": list(claims), **more}]}


def several(options: list[list[str]], required: bool = True, **queries: Any) -> dict[str, Any]:
    credentials = [{"id": id, **META, **query} for id, query in queries.items()]
    return {"credentials": credentials, "credential_sets": [{"options": options, "required": required}]}


def told(query: Query) -> list[tuple[Any, ...]]:
    selection = select(query, OFFER, WHOLE)
    assert selection
    return [condition.path for condition in told_beside(query, OFFER, WHOLE, selection)]


EXAMPLES: dict[str, tuple[dict[str, Any], list[tuple[Any, ...]]]] = {
    "a claim that is shared": (one(OVER_20), []),
    "the first of the sets": (one(OVER_20, NAME, sets=[["over_20"], ["name"]]), []),
    "a set that was passed over": (one(OVER_50, NAME, sets=[["over_50"], ["name"]]), [(AGE, "50")]),
    "two sets that were passed over": (
        one(OVER_50, GERMAN, NAME, sets=[["over_50"], ["german"], ["name"]]),
        [(AGE, "50"), ("nationalities", None)],
    ),
    "a set behind the answer": (
        one(OVER_50, NAME, GERMAN, sets=[["over_50"], ["name"], ["german"]]),
        [(AGE, "50")],
    ),
    "what is there whatever it says did not decide": (
        one(EMAIL, OVER_50, NAME, sets=[["email", "over_50"], ["name"]]),
        [(AGE, "50")],
    ),
    "another condition of a set that was passed over": (
        one(OVER_20, OVER_50, NAME, sets=[["over_20", "over_50"], ["name"]]),
        [(AGE, "20"), (AGE, "50")],
    ),
    "a claim that is missing": (one(TOWN, NAME, sets=[["town"], ["name"]]), [("address", "locality")]),
    "what could have been left off": (one(NAME, TOWN, sets=[["name", "town"], ["name"]]), []),
    "what could not have been left off, because it is several claims": (
        one(NAME, ADDRESS, sets=[["name", "address"], ["name"]]),
        [("address",)],
    ),
    "a credential query that was passed over": (
        several([["a"], ["b"]], a={"claims": [OVER_50]}, b={"claims": [NAME]}),
        [(AGE, "50")],
    ),
    "one of two together": (
        several([["a", "b"], ["b"]], a={"claims": [OVER_50]}, b={"claims": [NAME]}),
        [(AGE, "50")],
    ),
    "one behind the answer": (several([["b"], ["a"]], a={"claims": [OVER_50]}, b={"claims": [NAME]}), []),
    "one that is not needed": (
        {
            "credentials": [{"id": "a", **META, "claims": [OVER_50]}, {"id": "b", **META, "claims": [NAME]}],
            "credential_sets": [{"options": [["b"]]}, {"options": [["a"]], "required": False}],
        },
        [(AGE, "50")],
    ),
    "one for another type": (
        several([["a"], ["b"]], a={**OTHER_TYPE, "claims": [OVER_50]}, b={"claims": [NAME]}),
        [],
    ),
}


@pytest.mark.parametrize(("query", "expected"), EXAMPLES.values(), ids=EXAMPLES)
def test_what_an_answer_tells(query: dict[str, Any], expected: list[tuple[Any, ...]]) -> None:
    assert told(parse(json.dumps(query))) == expected


def test_a_query_in_another_format_tells_nothing_of_the_person() -> None:
    licence = {"id": "mdl", **LICENCE}
    query = {
        "credentials": [licence, {"id": "b", **META, "claims": [NAME]}],
        "credential_sets": [{"options": [["mdl"], ["b"]]}],
    }
    assert told(parse(json.dumps(query))) == []


def test_with_one_answer_only_those_before_it_tell() -> None:
    claims = {"a": ClaimsQuery((AGE, "50"), values=(True,)), "b": ClaimsQuery(("given_name",))}
    queries = tuple(CredentialQuery(id, (claim,), vct_values=None) for id, claim in claims.items())
    for options, expected in (((("a",), ("b",)), [(AGE, "50")]), ((("b",), ("a",)), [])):
        assert told(Query(queries, (CredentialSet(options),), only_one=True)) == expected


def test_what_is_missing_where_it_is_asked_for_as_far_as_it_is_there_is_not_repeated() -> None:
    missing, name = ClaimsQuery(("address", "locality")), ClaimsQuery(("given_name",))
    asked = CredentialQuery("a", (name,), vct_values=None, wished=(missing,))
    assert told(Query((asked,))) == []
    assert told(Query((replace(asked, wished=(), optional=(missing, ClaimsQuery(("address",)))),))) == []


# --- The rule ---------------------------------------------------------------------------------------------

VALUES: dict[tuple[str, ...], list[Any]] = {
    ("given_name",): ["Alice", "Bob"],
    ("nationalities",): [["DE"], ["GB"], ["DE", "GB"], []],
    ("email",): [None, "a@example.org"],
    (AGE, "20"): [None, True, False],
    (AGE, "50"): [None, True, False],
    ("address", "locality"): [None, "Ghent"],
    ("address", "country"): [None, "BE"],
}
WANTED: dict[tuple[Any, ...], list[Any]] = {
    ("given_name",): ["Alice"],
    ("nationalities", None): ["DE", "GB"],
    ("nationalities", 0): ["DE"],
    ("email",): ["a@example.org"],
    (AGE, "20"): [True, False],
    (AGE, "50"): [True, False],
    ("address", "locality"): ["Ghent"],
    ("vct",): ["type", "other"],
}
PATHS = [*WANTED, ("nationalities",), ("address",), (AGE,), ("address", "country")]


@st.composite
def claims_queries(draw: Any, number: int) -> ClaimsQuery:
    path = draw(st.sampled_from(PATHS))
    values = draw(st.lists(st.sampled_from(WANTED[path]), max_size=2)) if path in WANTED else []
    return ClaimsQuery(path, f"c{number}", tuple(values))


@st.composite
def credential_queries(draw: Any, id: str) -> CredentialQuery:
    claims = tuple(draw(claims_queries(number)) for number in range(draw(st.integers(1, 4))))
    ids = st.lists(st.sampled_from([claim.id for claim in claims]), min_size=1, unique=True)
    sets = tuple(map(tuple, draw(st.lists(ids, max_size=4))))
    if sets:
        return CredentialQuery(id, claims, sets)
    at = draw(st.integers(0, len(claims)))
    further = tuple(draw(claims_queries(number)) for number in range(10, 10 + draw(st.integers(0, 2))))
    return CredentialQuery(id, claims[:at], optional=claims[at:], wished=further)


@st.composite
def queries(draw: Any) -> Query:
    ids = "abc"[: draw(st.integers(1, 3))]
    credentials = tuple(draw(credential_queries(id)) for id in ids)
    options = st.lists(
        st.lists(st.sampled_from(ids), min_size=1, unique=True).map(tuple), min_size=1, max_size=3
    )
    sets = draw(st.lists(st.builds(CredentialSet, options.map(tuple), st.booleans()), max_size=2))
    return Query(credentials, tuple(sets), in_one=draw(st.booleans()), only_one=draw(st.booleans()))


@st.composite
def credentials(draw: Any) -> dict[tuple[str, ...], Any]:
    return {path: draw(st.sampled_from(values)) for path, values in VALUES.items()}


def nested(values: dict[tuple[str, ...], Any]) -> dict[str, Any]:
    tree: dict[str, Any] = dict(PLAIN)
    for (*groups, name), value in values.items():
        if value is not None:
            here = tree
            for group in groups:
                here = here.setdefault(group, {})
            here[name] = value
    return tree


@given(queries(), credentials(), credentials())
def test_whoever_has_what_was_told_could_have_given_the_same_answer(
    query: Query, values: dict[tuple[str, ...], Any], others: dict[tuple[str, ...], Any]
) -> None:
    """If they also lack the claims that this person lacks and that are asked for only if they exist."""
    selection = select(query, OFFER, nested(values))
    if selection is None:
        return
    told = told_beside(query, OFFER, nested(values), selection)
    known = {path for condition in told for path in covered(condition.path, CLAIMS)}
    known |= set(selection.claims)

    asked = [each for each in query.credentials if each.id in selection.query_ids]
    there = [claim for each in asked for claim in each.claims if is_there(claim, nested(values))]
    named = [*there, *(claim for each in asked for claim in (*each.wished, *each.optional))]
    missing = {
        path
        for claim in named
        for path in covered(claim.path, CLAIMS)
        if values[path] is None or not is_there(claim, nested(values))
    }
    same = others | {path: values[path] for path in known | missing}
    theirs = select(query, OFFER, nested(same))

    assert theirs is not None
    assert theirs.query_ids == selection.query_ids
    assert set(selection.claims) <= set(theirs.claims)
    assert set(theirs.claims) - set(selection.claims) <= set(theirs.optional)


@given(queries(), credentials())
def test_nothing_is_told_of_claims_that_the_query_does_not_name(
    query: Query, values: dict[tuple[str, ...], Any]
) -> None:
    selection = select(query, OFFER, nested(values))
    named = {
        claim.path for each in query.credentials for claim in (*each.claims, *each.wished, *each.optional)
    }
    if selection:
        assert {each.path for each in told_beside(query, OFFER, nested(values), selection)} <= named
