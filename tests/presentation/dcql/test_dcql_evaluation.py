"""Evaluates DCQL queries for Alice's credential, next to a second implementation (npm `dcql`)."""

import json
import random
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presentation.dcql.evaluation import (
    Offer,
    Selection,
    select,
    select_for_anyone,
    unknown_claim,
)
from presentation.dcql.parsing import parse
from tests.presentation.dcql.offers import AGE, OFFER, PLAIN, WHOLE, credential, found, path
from wallet.credential.claims import ARRAYS, CLAIMS

NODE = Path(__file__).parents[2] / "node"
AGES = ((AGE, "18"), (AGE, "21"), (AGE, "65"))


LICENCE = {"format": "mso_mdoc", "meta": {"doctype_value": "org.iso.18013.5.1.mDL"}}


def claims_for(*claims: Any, **more: Any) -> Any:
    selection = found(credential(*claims, **more))
    return selection and selection.claims


LED: dict[str, tuple[list[Any], Any]] = {
    "a claim": ([path("given_name")], (("given_name",),)),
    "in the order asked": ([path("family_name"), path("given_name")], (("family_name",), ("given_name",))),
    "a claim twice": ([path("given_name"), path("given_name")], (("given_name",),)),
    "a group is all that is in it": ([path(AGE)], AGES),
    "one of a group": ([path(AGE, "21")], ((AGE, "21"),)),
    "an array": ([path("nationalities")], (("nationalities",),)),
    "each of an array is the whole claim": ([path("nationalities", None)], (("nationalities",),)),
    "one of an array is the whole claim": ([path("nationalities", 1)], (("nationalities",),)),
    "what always travels needs no disclosure": ([path("iss"), path("cnf", "jwk", "kty")], ()),
    "beyond an array": ([path("nationalities", 2)], None),
    "into text": ([path("given_name", "x")], None),
    "an index into text": ([path("given_name", 0)], None),
    "an index into an object": ([path(AGE, 0)], None),
    "every element of an object": ([path(AGE, None)], None),
    "every element of text": ([path("given_name", None)], None),
    "a name in an array": ([path("nationalities", "GB")], None),
    "below an element": ([path("nationalities", None, "x")], None),
    "an unknown claim": ([path("email")], None),
    "an unknown age": ([path(AGE, "16")], None),
    "a number for a name": ([path(AGE, 18)], None),
    "one of two is not there": ([path("given_name"), path("email")], None),
    "its value": ([path("given_name", values=["Bob", "Alice"])], (("given_name",),)),
    "another value": ([path("given_name", values=["Bob"])], None),
    "another case": ([path("given_name", values=["alice"])], None),
    "true": ([path(AGE, "18", values=[True])], ((AGE, "18"),)),
    "true is not 1": ([path(AGE, "18", values=[1])], None),
    "true is not text": ([path(AGE, "18", values=["true"])], None),
    "false": ([path(AGE, "65", values=[False])], ((AGE, "65"),)),
    "false is not 0": ([path(AGE, "65", values=[0])], None),
    "one element's value": ([path("nationalities", None, values=["FR"])], (("nationalities",),)),
    "another element's value": ([path("nationalities", 0, values=["FR"])], None),
    "the value of an array": ([path("nationalities", values=["GB"])], None),
    "the value of a group": ([path(AGE, values=[True])], None),
    "a plain value": ([path("vct", values=["type"])], ()),
    "a value not known yet": ([path("iat", values=[0])], None),
    "no claims": ([], ()),
}


@pytest.mark.parametrize(("claims", "selected"), LED.values(), ids=LED.keys())
def test_where_paths_lead(claims: list[Any], selected: Any) -> None:
    assert claims_for(*claims) == selected


def test_the_first_claim_set_that_the_credential_has_is_selected() -> None:
    claims = [
        path("given_name", id="x", values=["Bob"]),
        path("birth_date", id="y"),
        path("family_name", id="z"),
    ]

    assert claims_for(*claims, claim_sets=[["x"], ["y", "z"], ["z"]]) == (("birth_date",), ("family_name",))
    assert claims_for(*claims, claim_sets=[["z", "y"], ["y"]]) == (("family_name",), ("birth_date",))
    assert claims_for(*claims, claim_sets=[["x"], ["x", "z"]]) is None


@pytest.mark.parametrize(("vct_values", "matches"), [(["type"], True), (["x", "type"], True), (["x"], False)])
def test_the_type_is_one_of_those_asked_for(vct_values: list[str], matches: bool) -> None:
    assert (claims_for(meta={"vct_values": vct_values}) is not None) is matches


def test_a_credential_of_another_format_counts_as_missing() -> None:
    licence = credential(path("given_name"), id="mdl", **LICENCE)
    basic = credential(path("given_name"), id="basic")
    only = lambda *sets: found(licence, basic, credential_sets=list(sets))  # noqa: E731

    assert found(licence) is None
    assert found(licence, basic) is None
    name = (("given_name",),)
    assert only({"options": [["mdl"], ["basic"]]}) == Selection(name, ("basic",), parts={("basic",): name})
    optional = {"options": [["mdl"]], "required": False}
    assert only({"options": [["basic"]]}, optional) == Selection(name, ("basic",), parts={("basic",): name})
    assert only({"options": [["mdl"]]}, {"options": [["basic"]]}) is None


@pytest.mark.parametrize(
    ("authorities", "matches"),
    [
        ([{"type": "aki", "values": ["key-0", "key-2"]}], True),
        ([{"type": "etsi_tl", "values": ["key-0"]}, {"type": "aki", "values": ["a2V5MQ"]}], True),
        ([{"type": "aki", "values": ["key-0"]}], False),
        ([{"type": "openid_federation", "values": ["a2V5MQ"]}], False),
    ],
)
def test_an_authority_is_known_by_its_key(authorities: list[Any], matches: bool) -> None:
    assert (claims_for(trusted_authorities=authorities) is not None) is matches


def test_without_credential_sets_every_query_is_required() -> None:
    name, age = credential(path("given_name"), id="name"), credential(path(AGE, "18"), id="age")
    missing = credential(path("email"), id="email")

    parts = {("age",): ((AGE, "18"),), ("name",): (("given_name",),)}
    assert found(age, name) == Selection(((AGE, "18"), ("given_name",)), ("age", "name"), parts=parts)
    assert found(age, missing) is None


def test_credential_sets_take_the_first_option_and_leave_out_what_is_optional_and_missing() -> None:
    queries = [
        credential(path("email"), id="email"),
        credential(path("given_name"), id="name"),
        credential(path("birth_date"), id="birth"),
    ]

    def of(*sets: tuple[list[list[str]], bool]) -> tuple[str, ...] | None:
        said = [{"options": options, "required": required} for options, required in sets]
        selection = found(*queries, credential_sets=said)
        return selection and selection.query_ids

    assert of(([["email"], ["birth"], ["name"]], True)) == ("birth",)
    assert of(([["birth", "name"]], True)) == ("name", "birth")
    assert of(([["birth"]], True), ([["email"]], False)) == ("birth",)
    assert of(([["birth"]], True), ([["name"]], False)) == ("name", "birth")
    assert of(([["birth"]], True), ([["email"]], True)) is None
    assert of(([["email"], ["email", "name"]], True)) is None
    assert of(([["email"]], False)) is None  # an empty selection is never presented


# A grammar small enough that most queries match, and large enough for contradictions.
PATHS = [
    *(["given_name"], ["family_name"], ["birth_date"], [AGE], [AGE, "18"], [AGE, "16"], ["email"]),
    *(["nationalities"], ["nationalities", None], ["nationalities", 0], ["nationalities", 5]),
    *(["given_name", "x"], ["given_name", 0], [AGE, None], ["vct"], ["cnf", "jwk"]),
]
VALUES = [["Alice"], ["Bob", "Alice"], [True], [1], ["FR"], ["GB", False], ["type"]]


def drawn(draw: Any) -> dict[str, Any]:
    """A valid query; `draw` is a `random.Random`."""
    credentials = []
    for number in range(draw.randint(1, 3)):
        names = [f"c{index}" for index in range(draw.randint(1, 3))]
        claims = [{"id": name, "path": draw.choice(PATHS)} for name in names]
        for claim in claims:
            if draw.random() < 0.3:
                claim["values"] = draw.choice(VALUES)
        said: dict[str, Any] = credential(*(claims if draw.random() < 0.9 else ()), id=f"q{number}")
        if "claims" in said and draw.random() < 0.5:
            sets = [draw.sample(names, draw.randint(1, len(names))) for _ in range(draw.randint(1, 3))]
            said["claim_sets"] = sets
        if draw.random() < 0.2:
            said["trusted_authorities"] = [{"type": "aki", "values": [draw.choice(["a2V5MQ", "b3RoZXI"])]}]
        if draw.random() < 0.2:
            said["meta"] = {"vct_values": [draw.choice(["type", "other"])]}
        if draw.random() < 0.15:
            said |= LICENCE
            said.pop("claims", None), said.pop("claim_sets", None)  # of other formats
        credentials.append(said)
    query: dict[str, Any] = {"credentials": credentials}
    if draw.random() < 0.5:
        ids = [said["id"] for said in credentials]
        query["credential_sets"] = [
            {
                "options": [draw.sample(ids, draw.randint(1, len(ids))) for _ in range(draw.randint(1, 2))],
                "required": draw.random() < 0.7,
            }
            for _ in range(draw.randint(1, 2))
        ]
    return query


@given(st.randoms(use_true_random=False))
def test_a_selection_is_always_within_the_request_and_the_best_possible_selection(
    draw: random.Random,
) -> None:
    said = drawn(draw)
    query = parse(json.dumps(said))

    selection = select(query, OFFER, WHOLE)

    if selection is None:
        return
    asked = {tuple(claim["path"]) for q in said["credentials"] for claim in q.get("claims", ())}
    assert selection.query_ids
    assert set(selection.query_ids) <= {q["id"] for q in said["credentials"]}
    for claim in selection.claims:
        assert any(claim[: len(p)] == p or p[: len(claim)] == claim for p in asked)
    assert select_for_anyone(query, OFFER) is not None
    assert tuple(id for ids in selection.parts for id in ids) == selection.query_ids
    assert set(selection.claims) == {claim for claims in selection.parts.values() for claim in claims}
    of_query = {q["id"]: [tuple(claim["path"]) for claim in q.get("claims", ())] for q in said["credentials"]}
    for (id,), claims in selection.parts.items():
        for claim in claims:
            assert any(claim[: len(p)] == p or p[: len(claim)] == claim for p in of_query[id])


@given(st.randoms(use_true_random=False))
def test_a_single_presentation_answers_whatever_one_of_the_queries_alone_can_answer(
    draw: random.Random,
) -> None:
    said = drawn(draw)
    query = parse(json.dumps(said))

    single = select(replace(query, only_one=True), OFFER, WHOLE)
    together = select(replace(query, in_one=True), OFFER, WHOLE)

    alone = [
        q["id"]
        for q in said["credentials"]
        if select(parse(json.dumps({"credentials": [q]})), OFFER, WHOLE) is not None
        and all(
            [q["id"]] in [sorted(set(option)) for option in one["options"]]
            for one in said.get("credential_sets", [{"options": [[q["id"] for q in said["credentials"]]]}])
            if one.get("required", True)
        )
    ]
    mentioned = [
        id
        for one in said.get("credential_sets", [{"options": [alone]}])
        for option in one["options"]
        if len(set(option)) == 1
        for id in option
    ]
    assert (single is not None) is bool(set(alone) & set(mentioned))
    if single is not None:
        assert len(single.parts) == 1
        assert single.query_ids[0] in alone
    if together is not None:
        assert together.parts == {together.query_ids: together.claims}


@given(st.randoms(use_true_random=False), st.sampled_from(["shoe_size", AGE, "given_name", "vct"]))
def test_a_claim_is_blamed_only_if_the_query_could_be_answered_without_its_path_being_unknown(
    draw: random.Random, name: str
) -> None:
    said = drawn(draw)
    unknown = [name, "16"]
    for q in said["credentials"]:
        for claim in q.get("claims", ()):
            if draw.random() < 0.2:
                claim["path"] = unknown
    query = parse(json.dumps(said))

    blamed = unknown_claim(query, OFFER)

    if blamed is not None:
        assert select_for_anyone(query, OFFER) is None
        assert claims_for(path(*blamed)) is None
        assert blamed in {tuple(claim.path) for q in query.credentials for claim in q.claims}


@pytest.mark.node
def test_a_second_implementation_finds_the_same() -> None:
    draw = random.Random(20261121)
    queries = [json.dumps(drawn(draw)) for _ in range(600)]
    asked = {"vct": "type", "authority": "a2V5MQ", "claims": WHOLE, "queries": queries}
    offer = Offer("type", {"a2V5MQ"}, CLAIMS, PLAIN, arrays=ARRAYS)

    run = subprocess.run(
        ["node", "dcql.mjs"], cwd=NODE, input=json.dumps(asked), capture_output=True, text=True, timeout=60
    )

    assert run.returncode == 0, run.stderr
    answers = json.loads(run.stdout)
    satisfied = [answer["satisfied"] for answer in answers]
    assert 100 < sum(satisfied) < 500, "the queries try both ends"
    for text, answer in zip(queries, answers, strict=True):
        query = parse(text)
        ours = select(query, offer, WHOLE)
        optional = [not one.required for one in query.credential_sets]
        if not (
            optional and all(optional)
        ):  # the other implementation then selects nothing; ours refuses that
            assert (ours is not None) is answer["satisfied"], text
        if ours is not None:
            for asked_for, chosen in zip(query.credentials, answer["sets"], strict=True):
                assert asked_for.id not in ours.query_ids or chosen is not None, text
        if ours is not None and not query.credential_sets:
            assert ours.claims == union_of(query, answer["sets"]), text


def union_of(query: Any, sets: list[int]) -> tuple[Any, ...]:
    """The claims in the sets that the other implementation chose."""
    union: dict[Any, None] = {}
    for asked, chosen in zip(query.credentials, sets, strict=True):
        by_id = {claim.id: claim for claim in asked.claims}
        option = [by_id[id] for id in asked.claim_sets[chosen]] if asked.claim_sets else asked.claims
        for claim in option:
            union |= dict.fromkeys(
                path for path in CLAIMS if all(a == b for a, b in zip(claim.path, path, strict=False))
            )
    return tuple(union)
