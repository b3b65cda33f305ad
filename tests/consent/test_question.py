"""Requesters and transactions are parsed exactly as stored, or refused."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consent.blocks import Transaction
from consent.question import MAX_ENTRIES, MAX_TEXT, QuestionFormatError, Requester
from tests.consent.questions import ACME, WIRE

texts = st.text(max_size=40)
money = st.fixed_dictionaries(
    {"amount": st.decimals(0, 10**9, places=2).map(str), "currency": st.just("EUR")}
)
values = st.one_of(
    texts,
    money,
    st.fixed_dictionaries({"number": st.integers(-(10**14), 10**14)}),
    st.fixed_dictionaries({"phrase": texts, "words": st.dictionaries(texts, texts, max_size=2)}),
)
pairs = st.tuples(texts, values).map(list)
items = st.integers(1, 4).flatmap(
    lambda width: st.fixed_dictionaries(
        {
            "block": st.just("items"),
            "heading": texts,
            "columns": st.lists(texts, min_size=width, max_size=width),
            "rows": st.lists(st.lists(values, min_size=width, max_size=width), max_size=4),
            "total": pairs,
        }
    )
)
blocks = st.one_of(
    st.fixed_dictionaries({"block": st.just("amount"), "label": texts, "value": values}),
    st.fixed_dictionaries({"block": st.just("quote"), "text": texts}),
    st.fixed_dictionaries({"block": st.just("rows"), "heading": texts, "rows": st.lists(pairs, max_size=4)}),
    items,
)
transactions = st.fixed_dictionaries(
    {"kind": texts, "title": texts, "blocks": st.lists(blocks, max_size=4), "consequential": st.booleans()},
    optional={"payment": st.builds(lambda paid, payee: {**paid, "payee": payee}, money, texts)},
)
links = st.one_of(st.just(""), texts.map(lambda rest: f"https://{rest}"))
requesters = st.fixed_dictionaries(
    {
        "name": texts,
        "domain": texts,
        "purpose": texts,
        "logo_url": st.one_of(st.just(""), st.just("/relying-parties/x/logo")),
        "privacy_policy_url": links,
        "terms_url": links,
    },
    optional=dict.fromkeys(("receiver", "sector", "recognised_by"), st.text(min_size=1, max_size=40)),
)
anything = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), texts),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=6)),
    max_leaves=20,
)


def as_json(value: Any) -> Any:
    """The value after it was written as JSON and read again: tuples become lists."""
    return json.loads(json.dumps(value))


@given(transactions)
def test_a_transaction_comes_back_from_json_as_it_went_in(value: dict[str, Any]) -> None:
    assert as_json(Transaction.from_json(as_json(value)).to_json()) == value


@given(requesters)
def test_a_requester_comes_back_from_json_as_it_went_in(value: dict[str, Any]) -> None:
    assert Requester.from_json(as_json(value)).to_json() == value


@given(anything)
def test_anything_else_is_refused_and_nothing_else_is_raised(value: object) -> None:
    for kind in (Transaction, Requester):
        with pytest.raises(QuestionFormatError):
            kind.from_json(value)


@given(transactions, st.data())
def test_a_transaction_with_a_member_too_many_or_too_few_is_refused(
    value: dict[str, Any], data: st.DataObject
) -> None:
    place = data.draw(st.sampled_from([value, *value["blocks"]]))
    if data.draw(st.booleans()):
        place["onclick"] = "x"
    else:
        del place[data.draw(st.sampled_from(sorted(set(place) - {"payment"})))]
    with pytest.raises(QuestionFormatError):
        Transaction.from_json(value)


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        (("consequential",), 1),
        (("title",), None),
        (("title",), "x" * (MAX_TEXT + 1)),
        (("blocks",), "amount"),
        (("blocks",), [WIRE["blocks"][0]] * (MAX_ENTRIES + 1)),
        (("blocks", 0), {"block": "script", "text": "x"}),
        (("blocks", 0), {"block": ["amount"], "label": "x", "value": "y"}),
        (("blocks", 0, "value"), 12500.0),
        (("blocks", 1, "rows", 0), ["only a label"]),
        (("blocks", 2, "rows", 0), ["one", "two"]),
        (("blocks", 2, "columns"), []),
        (("blocks", 2, "total"), "25.00 EUR"),
        (("payment",), {"amount": 950, "currency": "USD", "payee": "Mary"}),
        (("payment",), {"amount": "1e9", "currency": "USD", "payee": "Mary"}),
        (("payment",), {"amount": "950.00", "currency": "US<", "payee": "Mary"}),
        (("payment",), {"amount": "950.00", "currency": "USD"}),
        (("blocks", 0, "value"), {"amount": "950.00", "currency": "USD", "payee": "Mary"}),
        (("blocks", 0, "value"), {"phrase": "x", "words": ["y"]}),
        (("blocks", 0, "value"), {"number": True}),
    ],
)
def test_a_wrong_part_of_a_transaction_is_refused(path: tuple[Any, ...], wrong: object) -> None:
    value = copy.deepcopy(WIRE)
    place: Any = value
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = wrong
    with pytest.raises(QuestionFormatError):
        Transaction.from_json(value)


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("name", None),
        ("name", "x" * (MAX_TEXT + 1)),
        ("privacy_policy_url", "javascript:alert(1)"),
        ("terms_url", "data:text/html,x"),
        ("logo_url", "https://elsewhere.example/logo.png"),
        ("logo_url", "//elsewhere.example/logo.png"),
    ],
)
def test_a_wrong_part_of_a_requester_is_refused(field: str, wrong: object) -> None:
    with pytest.raises(QuestionFormatError):
        Requester.from_json(ACME.to_json() | {field: wrong})
