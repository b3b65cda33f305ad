"""What the consent page shows of a transaction."""

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from django.utils import translation
from hypothesis import given
from hypothesis import strategies as st

from consent.blocks import Money, Number, Phrase, Transaction
from infra import strict_json
from presentation.errors import InvalidTransactionDataError
from presentation.transaction_data import money
from presentation.transaction_data.entries import display, parse
from presentation.transaction_data.money import MINOR_UNITS
from presentation.transaction_data.types import KINDS_OF_INSTRUMENTS, TYPES
from tests.presentation.payloads import FULL, ITEMIZED, MANDATE, SESSION, WIRE, around, value, with_changes


def stored(urn: str, changes: dict[str, Any] | None = None) -> dict[str, Any]:
    """The transaction as it is stored: amounts as numbers, our own words as source texts."""
    (data,) = parse(
        value(urn, with_changes(urn, changes or {})), credential_ids=["basic"], allowed_types=list(TYPES)
    )
    return display(data)


def as_read(value: Any) -> Any:
    """What is stored, with every amount, number and phrase as the page writes it."""
    if isinstance(value, list):
        return [as_read(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    for kind, name in ((Money, "currency"), (Number, "number"), (Phrase, "phrase")):
        if name in value and "payee" not in value:
            return str(kind.from_json(value))  # type: ignore[attr-defined]
    return {name: as_read(inner) for name, inner in value.items()}


def shown(urn: str, changes: dict[str, Any] | None = None) -> dict[str, Any]:
    """The displayed blocks, with ordinary spaces instead of no-break ones."""
    said = as_read({name: part for name, part in stored(urn, changes).items() if name != "payment"})
    return json.loads(json.dumps(said, ensure_ascii=False).replace("\xa0", " "))  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("currency", "amount", "reads"),
    [("JPY", 1500, "1,500 JPY"), ("KWD", 1.5, "1.500 KWD"), ("EUR", 1.5, "1.50 EUR"), ("EUR", 0, "0.00 EUR")],
)
def test_amounts_are_in_the_currencys_own_minor_units(currency: str, amount: float, reads: str) -> None:
    assert shown(MANDATE, {"currency": currency, "amount": amount})["blocks"][0]["value"] == reads


def test_line_totals_are_exact() -> None:
    items = [{"quantity": 3, "unit_cost": 0.1, "label": "x"}, {"quantity": 7, "unit_cost": 1.1, "label": "y"}]

    block = shown(ITEMIZED, {"items": items})["blocks"][2]

    assert [row[3] for row in block["rows"]] == ["0.30 EUR", "7.70 EUR"]
    assert block["total"] == ["Total", "8.00 EUR"]


def test_a_discount_and_a_fine_price_are_shown_with_what_each_line_comes_to() -> None:
    items = [
        {"quantity": 2, "unit_cost": 24.5, "label": "Tea"},
        {"quantity": 1500, "unit_cost": 0.000345, "label": "Messages"},
        {"quantity": 3, "unit_cost": -1.5, "label": "Voucher"},
    ]

    blocks = shown(ITEMIZED, {"items": items})["blocks"]

    assert blocks[0]["value"] == "45.02 EUR"
    assert blocks[2]["columns"] == ["Item", "Quantity", "Price each", "Line total, rounded"]
    assert blocks[2]["rows"] == [
        ["Tea", "2", "24.50 EUR", "49.00 EUR"],
        ["Messages", "1,500", "0.000345 EUR", "0.52 EUR"],
        ["Voucher", "3", "−1.50 EUR", "−4.50 EUR"],
    ]
    assert blocks[2]["total"] == ["Total", "45.02 EUR"]


@pytest.mark.parametrize(
    ("currency", "quantity", "cost", "total"),
    [
        ("EUR", 1, "0.125", "0.13"),
        ("EUR", 1, "0.115", "0.12"),
        ("EUR", 1, "0.124999", "0.12"),
        ("EUR", 1, "-0.125", "−0.13"),
        ("EUR", 1, "-0.124999", "−0.12"),
        ("EUR", 1, "-0.004999", "0.00"),
        ("EUR", 3, "0.333333", "1.00"),
        ("JPY", 1, "0.5", "1"),
        ("JPY", 1, "-0.5", "−1"),
        ("KWD", 7, "0.0005", "0.004"),
        ("CLF", 1, "0.00005", "0.0001"),
        ("EUR", 1_000_000, "0.000001", "1.00"),
    ],
)
def test_a_line_is_rounded_half_away_from_zero(currency: str, quantity: int, cost: str, total: str) -> None:
    line = f'{{"quantity":{quantity},"unit_cost":{cost},"label":"x"}}'
    rest = '{"quantity":1,"unit_cost":5,"label":"y"}'
    payload = f'{{"currency":"{currency}","items":[{line},{rest}]}}'
    (data,) = parse(around(ITEMIZED, payload), credential_ids=["basic"], allowed_types=list(TYPES))

    assert as_read(display(data))["blocks"][1]["rows"][0][3] == f"{total}\xa0{currency}"


PRICES = st.decimals(-2000, 2000, places=6) | st.decimals(-2000, 2000, places=2) | st.integers(-9, 9)
LINES = st.lists(st.tuples(st.integers(1, 1_000_000), PRICES), min_size=1, max_size=12)


def in_whole_numbers(quantity: int, cost: Decimal | int, places: int) -> int:
    """A line's total in minor units, computed with integers only, as an independent check."""
    millionths = int(Decimal(cost) * 10**6) * quantity
    unit = 10 ** (6 - places)
    size = (abs(millionths) + unit // 2) // unit
    return size if millionths >= 0 else -size


def figure(text: str) -> Decimal:
    return Decimal(text.split("\xa0")[0].replace(",", "").replace("−", "-"))


@given(LINES, st.sampled_from(["EUR", "JPY", "KWD", "CLF", "USD"]))
def test_the_lines_that_are_shown_come_to_the_sum_that_is_shown(lines: Any, currency: str) -> None:
    places = MINOR_UNITS[currency]
    written = ",".join(f'{{"quantity":{n},"unit_cost":{cost:f},"label":"x"}}' for n, cost in lines)
    expected = [in_whole_numbers(n, cost, places) for n, cost in lines]
    value = around(ITEMIZED, f'{{"currency":"{currency}","items":[{written}]}}')

    if sum(expected) < 0:
        with pytest.raises(InvalidTransactionDataError, match="must come to zero or more"):
            parse(value, credential_ids=["basic"], allowed_types=list(TYPES))
        return
    (data,) = parse(value, credential_ids=["basic"], allowed_types=list(TYPES))
    amount, items = as_read(display(data))["blocks"]

    totals = [figure(row[3]) for row in items["rows"]]
    assert totals == [Decimal(minor).scaleb(-places) for minor in expected]
    assert not any(total.is_signed() and not total for total in totals)
    assert figure(items["total"][1]) == figure(amount["value"]) == sum(totals) >= 0
    assert [figure(row[2]) for row in items["rows"]] == [cost for _, cost in lines]
    exact = all(Decimal(cost) * n == total for (n, cost), total in zip(lines, totals, strict=True))
    assert items["columns"][3] == ("Line total" if exact else "Line total, rounded")


def test_the_greatest_bill_there_can_be_is_added_up_exactly() -> None:
    line = '{"quantity":1000000,"unit_cost":%s999999999999.999999,"label":"x"}'
    last = '{"quantity":1,"unit_cost":999999999999.989999,"label":"x"}'
    items = ",".join([line % "", line % "-"] * 49 + [last])
    payload = f'{{"currency":"CLF","items":[{items}]}}'
    schema = TYPES[ITEMIZED].payload.read(strict_json.loads(payload), "payload")

    assert money.total(schema["items"], "CLF") == Decimal("999999999999.9900")


def test_text_that_hides_or_reorders_is_made_visible_everywhere() -> None:
    said = json.dumps(shown(WIRE, {"memo": "a\u202eb", "recipient.account_number": "1234\u202e5678"}))

    assert "\\u202e" not in said
    assert said.count("U+202E") == 2


def test_a_quote_keeps_its_lines_and_a_row_shows_where_they_break() -> None:
    assert shown(MANDATE, {"prompt_summary": "one\ntwo"})["blocks"][1]["text"] == "one\ntwo"
    assert shown(WIRE, {"memo": "one\ntwo"})["blocks"][1]["rows"] == [["Reference", "one ↵ two"]]


def test_what_is_left_out_leaves_no_empty_place() -> None:
    blocks = shown(ITEMIZED, {"title": ..., "description": ...})["blocks"]

    assert [block["block"] for block in blocks] == ["amount", "items"]
    assert [block["block"] for block in shown(WIRE, {"memo": ""})["blocks"]] == ["amount", "rows", "rows"]


@pytest.mark.parametrize("number", ["12 34", "40-47-84", "12345", "1234-5678-9"])
def test_an_account_number_with_groups_of_its_own_keeps_them(number: str) -> None:
    rows = shown(WIRE, {"source.account_number": number})["blocks"][3]["rows"]

    assert ["Account number", number] in rows


def leaves(tree: Any) -> Iterator[Any]:
    if isinstance(tree, dict | list):
        for inner in tree.values() if isinstance(tree, dict) else tree:
            yield from leaves(inner)
    else:
        yield tree


@pytest.mark.parametrize("urn", FULL)
def test_every_text_that_is_signed_is_shown(urn: str) -> None:
    """Every field gets its own text; all of them must be on the page."""
    numbered = {"n": 0}

    def mark(tree: Any) -> Any:
        if isinstance(tree, dict):
            return {name: mark(inner) for name, inner in tree.items()}
        if isinstance(tree, list):
            return [mark(inner) for inner in tree]
        if isinstance(tree, str):
            numbered["n"] += 1
            return f"text no. {numbered['n']}"
        return tree

    payload = mark(FULL[urn])
    fixed = {"currency": "EUR"} if "currency" in payload else {"ip_address": "192.0.2.9"}
    page = "\n".join(leaves_of_text(shown(urn, payload | fixed)))

    for leaf in leaves(payload | fixed):
        if isinstance(leaf, str):
            assert leaf in page


def leaves_of_text(tree: Any) -> Iterator[str]:
    return (leaf for leaf in leaves(tree) if isinstance(leaf, str))


@pytest.mark.parametrize("urn", FULL)
def test_the_consent_page_can_show_it(urn: str) -> None:
    said = stored(urn)

    assert json.loads(json.dumps(Transaction.from_json(said).to_json())) == said


@pytest.mark.parametrize("urn", FULL)
def test_what_is_stored_is_the_same_in_every_language(urn: str) -> None:
    with translation.override("es"):
        in_spanish = json.dumps(stored(urn))
    assert in_spanish == json.dumps(stored(urn))


@pytest.mark.parametrize(
    ("urn", "changes", "payee"),
    [
        (WIRE, {}, "Rosa Recipient"),
        (WIRE, {"recipient.individual_name": ...}, "First Bank"),
        (WIRE, {"recipient.individual_name": " "}, "First Bank"),
        (WIRE, {"recipient.individual_name": "Rosa\u202eBob"}, "Rosa⟨U+202E⟩Bob"),
        (MANDATE, {}, "Corner Shop"),
        (ITEMIZED, {}, ""),  # it names nobody
    ],
)
def test_a_payment_has_its_amount_and_payee_as_facts(urn: str, changes: dict[str, Any], payee: str) -> None:
    said = stored(urn, changes)

    assert said["payment"]["payee"] == payee
    facts = {name: said["payment"][name] for name in ("amount", "currency")}
    assert said["blocks"][0]["value"] == facts  # the heading cannot name another amount than the card


def test_device_data_is_no_payment() -> None:
    assert "payment" not in stored(SESSION)


@pytest.mark.parametrize(
    ("instrument", "reads"),
    [
        ({"type": "card", "id": "Visa ending 4242"}, [["Payment method", "Card, Visa ending 4242"]]),
        (
            {"type": "sepa_direct_debit", "id": "DE89370400440532013000"},
            [["Payment method", "SEPA direct debit, DE89 3704 0044 0532 0130 00"]],
        ),
        ({"type": "paypal", "id": "a\u202eb"}, [["Payment method", "PayPal, a⟨U+202E⟩b"]]),
        ({"type": "card", "id": "%(identifier)s"}, [["Payment method", "Card, %(identifier)s"]]),
        ({"type": "Card", "id": "4242"}, [["Kind", "Card"], ["Identifier", "4242"]]),
        ({"type": "gift, card", "id": "4242"}, [["Kind", "gift, card"], ["Identifier", "4242"]]),
    ],
)
def test_an_instrument_reads_as_people_know_it_and_an_unknown_one_as_received(
    instrument: dict[str, str], reads: list[list[str]]
) -> None:
    changes = {f"payment_instrument.{name}": text for name, text in instrument.items()}

    rows = shown(MANDATE, changes)["blocks"][3]

    assert rows["heading"] == "Paid with"
    assert rows["rows"] == [*reads, ["Instruction", "once"]]


def test_every_kind_of_instrument_has_a_name_of_its_own() -> None:
    names = [str(name) for name in KINDS_OF_INSTRUMENTS.values()]

    assert len(set(names)) == len(names)
    assert all(name.count("%(identifier)s") == 1 for name in names)
