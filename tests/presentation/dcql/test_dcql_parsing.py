"""Reads DCQL queries: each rule of OpenID4VP 1.0 §6 has its message."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presentation.dcql.parsing import DEEPEST, MOST_CLAIMS, MOST_CREDENTIALS, parse
from presentation.dcql.queries import ClaimsQuery, CredentialSet, Query
from presentation.errors import InvalidRequestError

NAME = {"path": ["given_name"]}


def credential(**changes: Any) -> dict[str, Any]:
    said = {"id": "a", "format": "dc+sd-jwt", "meta": {"vct_values": ["type"]}, "claims": [NAME]} | changes
    return {name: value for name, value in said.items() if value is not ...}


def query(**changes: Any) -> dict[str, Any]:
    return {"credentials": [credential(**changes)]}


def claim(**changes: Any) -> dict[str, Any]:
    return query(claims=[NAME | changes])


NAMED = {"path": ["given_name"], "id": "x"}
DEEP: Any = "x"
for _ in range(DEEPEST):
    DEEP = [DEEP]

WRONG: dict[str, tuple[Any, str]] = {
    "no object": ([], "dcql_query must be a JSON object"),
    "no credentials": ({}, "credentials must be an array"),
    "credentials empty": ({"credentials": []}, "credentials must be an array"),
    "credentials an object": ({"credentials": {}}, "credentials must be an array"),
    "too many": ({"credentials": [credential(id=str(i)) for i in range(MOST_CREDENTIALS + 1)]}, "1 to 10"),
    "one is no object": ({"credentials": ["a"]}, "credentials[0] must be a JSON object"),
    "no id": (query(id=...), "credentials[0].id must be"),
    "id empty": (query(id=""), "credentials[0].id must be"),
    "id with a dot": (query(id="a.b"), "credentials[0].id must be"),
    "id with a newline": (query(id="a\n"), "credentials[0].id must be"),
    "id not ASCII": (query(id="é"), "credentials[0].id must be"),
    "id a number": (query(id=1), "credentials[0].id must be"),
    "id too long": (query(id="a" * 101), "credentials[0].id must be"),
    "same id twice": ({"credentials": [credential(), credential()]}, "two entries have the same id"),
    "no format": (query(format=...), "credentials[0].format must be text"),
    "a format that is no text": (query(format=1), "credentials[0].format must be text"),
    "an endless format": (query(format="x" * 501), "credentials[0].format must be text"),
    "another format without meta": (
        query(format="mso_mdoc", meta=...),
        "credentials[0].meta must be a JSON object",
    ),
    "another format with a wrong path": (
        query(format="mso_mdoc", meta={}, claims=[{"path": []}]),
        "claims[0].path must be an array",
    ),
    "no meta": (query(meta=...), "credentials[0].meta must be a JSON object"),
    "meta without types": (query(meta={}), "credentials[0].meta.vct_values must be an array"),
    "no types": (query(meta={"vct_values": []}), "credentials[0].meta.vct_values must be an array"),
    "a type that is no text": (query(meta={"vct_values": [1]}), "vct_values must be text"),
    "multiple as text": (query(multiple="true"), "credentials[0].multiple must be true or false"),
    "binding as a number": (
        query(require_cryptographic_holder_binding=1),
        "credentials[0].require_cryptographic_holder_binding must be true or false",
    ),
    "authorities empty": (query(trusted_authorities=[]), "trusted_authorities must be an array"),
    "an authority without type": (query(trusted_authorities=[{"values": ["a"]}]), "[0].type must be text"),
    "an authority without values": (query(trusted_authorities=[{"type": "aki"}]), "[0].values must be"),
    "an authority value that is no text": (
        query(trusted_authorities=[{"type": "aki", "values": [1]}]),
        "[0].values must be text",
    ),
    "claims empty": (query(claims=[]), "credentials[0].claims must be an array"),
    "claims an object": (query(claims={}), "credentials[0].claims must be an array"),
    "too many claims": (query(claims=[NAME] * (MOST_CLAIMS + 1)), "1 to 50 entries"),
    "a claim that is no object": (query(claims=["given_name"]), "claims[0] must be a JSON object"),
    "a claim without path": (query(claims=[{}]), "claims[0].path must be an array"),
    "a path that is empty": (claim(path=[]), "claims[0].path must be an array"),
    "a path as text": (claim(path="given_name"), "claims[0].path must be an array"),
    "a path with true": (claim(path=["a", True]), "claims[0].path must consist of"),
    "a path with -1": (claim(path=["a", -1]), "claims[0].path must consist of"),
    "a path with a fraction": (claim(path=["a", 1.0]), "claims[0].path must consist of"),
    "a path with a list": (claim(path=["a", []]), "claims[0].path must consist of"),
    "a path too long": (claim(path=["a"] * 11), "claims[0].path must be an array of 1 to 10"),
    "values empty": (claim(values=[]), "claims[0].values must be an array"),
    "values as text": (claim(values="a"), "claims[0].values must be an array"),
    "a value that is null": (claim(values=[None]), "claims[0].values must be strings"),
    "a value that is a fraction": (claim(values=[1.5]), "claims[0].values must be strings"),
    "a value that is an object": (claim(values=[{}]), "claims[0].values must be strings"),
    "a claim id of another form": (claim(id="x y"), "claims[0].id must be"),
    "claim ids twice": (query(claims=[NAMED, NAMED]), "two entries have the same id"),
    "sets without claims": (query(claims=..., claim_sets=[["x"]]), "claim_sets needs claims"),
    "sets and no claim id": (query(claim_sets=[["x"]]), "claims[0].id must be"),
    "sets empty": (query(claims=[NAMED], claim_sets=[]), "claim_sets must be an array"),
    "a set that is empty": (query(claims=[NAMED], claim_sets=[[]]), "claim_sets[0] must be an array"),
    "a set as text": (query(claims=[NAMED], claim_sets=["x"]), "claim_sets[0] must be an array"),
    "a set of unknown ids": (
        query(claims=[NAMED], claim_sets=[["y"]]),
        "names an id that the query does not",
    ),
    "a set of numbers": (query(claims=[NAMED], claim_sets=[[1]]), "names an id that the query does not"),
    "credential sets empty": (query() | {"credential_sets": []}, "credential_sets must be an array"),
    "a credential set without options": (query() | {"credential_sets": [{}]}, "options must be an array"),
    "an option of unknown ids": (
        query() | {"credential_sets": [{"options": [["b"]]}]},
        "credential_sets[0].options[0] names an id",
    ),
    "required as text": (
        query() | {"credential_sets": [{"options": [["a"]], "required": "no"}]},
        "credential_sets[0].required must be true or false",
    ),
    "too deep": (query() | {"unknown": DEEP}, "nested deeper"),
}


@pytest.mark.parametrize(("said", "says"), WRONG.values(), ids=WRONG.keys())
def test_every_mistake_is_named_with_its_place(said: Any, says: str) -> None:
    with pytest.raises(InvalidRequestError) as raised:
        parse(json.dumps(said))

    assert says in str(raised.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "valid JSON"),
        ("{", "valid JSON"),
        ("[" * 10_000, "valid JSON"),
        ('{"credentials": NaN}', "NaN"),
        ('{"credentials": [], "credentials": []}', "must not name credentials twice"),
    ],
)
def test_what_is_no_unambiguous_json_is_refused(text: str, says: str) -> None:
    with pytest.raises(InvalidRequestError, match=says):
        parse(text)


def test_a_query_is_read_whole_and_what_is_unknown_is_ignored() -> None:
    said = {
        "credentials": [
            credential(
                claims=[
                    {"path": ["a", None, 0], "id": "x", "values": ["1", 1, True], "more": 1},
                    {"path": ["b"], "id": "y"},
                ],
                claim_sets=[["x", "y"], ["y"]],
                trusted_authorities=[
                    {"type": "aki", "values": ["k1", "k2"]},
                    {"type": "etsi_tl", "values": ["https://list.example"]},
                ],
                multiple=True,
                require_cryptographic_holder_binding=False,
                more=[],
            ),
            credential(id="b", claims=...),
        ],
        "credential_sets": [{"options": [["a"], ["b"]], "required": False}],
        "more": {},
    }

    read = parse(json.dumps(said))

    first, second = read.credentials
    assert first.claims == (ClaimsQuery(("a", None, 0), "x", ("1", 1, True)), ClaimsQuery(("b",), "y"))
    assert first.claim_sets == (("x", "y"), ("y",))
    assert first.authority_key_ids == {"k1", "k2"}
    assert first.vct_values == {"type"}
    assert not first.holder_binding
    assert second.claims == second.claim_sets == ()
    assert second.holder_binding
    assert second.authority_key_ids is None
    assert read.credential_sets == (CredentialSet((("a",), ("b",)), required=False),)


def test_a_credential_query_of_another_format_is_read_and_its_meta_is_left_to_others() -> None:
    licence = {"doctype_value": "org.iso.18013.5.1.mDL", "vct_values": 7}
    said = credential(
        format="mso_mdoc", meta=licence, claims=[{"path": ["ns", "name"], "intent_to_retain": True}]
    )

    (read,) = parse(json.dumps({"credentials": [said]})).credentials

    assert (read.format, read.vct_values) == ("mso_mdoc", None)
    assert read.claims == (ClaimsQuery(("ns", "name")),)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)
MEMBERS = ("id", "format", "meta", "multiple", "claims", "claim_sets", "trusted_authorities")


@given(st.text(max_size=60) | JSON.map(json.dumps))
def test_anything_is_a_query_or_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(InvalidRequestError):
        parse(text)


@given(st.dictionaries(st.sampled_from(MEMBERS), JSON), JSON)
def test_a_query_with_anything_in_it_is_read_or_refused(changes: dict[str, Any], sets: Any) -> None:
    try:
        read = parse(json.dumps(query(**changes) | {"credential_sets": sets}))
    except InvalidRequestError:
        return
    assert isinstance(read, Query)
    assert read.credential_ids


def test_a_query_is_not_in_any_repr() -> None:
    assert "Alice" not in repr(parse(json.dumps(claim(values=["Alice"]))))
