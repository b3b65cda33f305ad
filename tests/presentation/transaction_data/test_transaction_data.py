"""The `transaction_data` parameter: what is accepted, and the error for everything else."""

import base64
import json
from decimal import Decimal
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infra.base64url import encode
from presentation.errors import InvalidTransactionDataError
from presentation.transaction_data.entries import (
    LONGEST_VALUE,
    TransactionData,
    display,
    is_base64url,
    parse,
)
from presentation.transaction_data.fields import Amount, Field, ListOf, Object
from presentation.transaction_data.types import TYPES, TransactionDataType
from tests.presentation.payloads import (
    FULL,
    ITEMIZED,
    MANDATE,
    OPTIONAL,
    SESSION,
    WIRE,
    around,
    raw,
    value,
    with_changes,
)


def read(parameter: str) -> tuple[TransactionData, ...]:
    return parse(parameter, credential_ids=["basic"], allowed_types=list(TYPES))


def amounts_in(declared: Field) -> list[Amount]:
    """Every Amount in a field, at any depth."""
    match declared:
        case Amount():
            return [declared]
        case ListOf():
            return amounts_in(declared.item)
        case Object():
            return [found for inner in declared.fields.values() for found in amounts_in(inner)]
    return []


@pytest.mark.parametrize("declared", TYPES.values(), ids=TYPES)
def test_every_amount_is_the_one_the_holder_approves(declared: TransactionDataType) -> None:
    """Only that one is checked against the minor units of its currency, and shown."""
    shown = [declared.fields[declared.amount]] if declared.amount else []

    assert amounts_in(declared.payload) == [field for field in shown if isinstance(field, Amount)]
    assert all(isinstance(field, Amount | ListOf) for field in shown)


@pytest.mark.parametrize("urn", TYPES)
def test_the_consent_page_lays_out_every_field(urn: str) -> None:
    declared = TYPES[urn]
    laid_out = {name for part in declared.layout for name in ([part] if isinstance(part, str) else part)}

    assert laid_out | {declared.amount, "currency"} >= set(declared.fields)


@pytest.mark.parametrize("urn", FULL)
def test_a_value_with_every_field_is_accepted(urn: str) -> None:
    (data,) = read(value(urn))

    assert data.received == value(urn)
    assert data.type == urn
    assert data.credential_ids == ("basic",)
    assert set(data.payload) == set(FULL[urn])


@pytest.mark.parametrize(("urn", "path"), [(urn, path) for urn in OPTIONAL for path in OPTIONAL[urn]])
def test_every_optional_field_may_be_left_out(urn: str, path: str) -> None:
    assert read(value(urn, with_changes(urn, {path: ...})))


def required(declared: Any, inside: str = "") -> list[str]:
    found = []
    for name, field in declared.fields.items():
        path = f"{inside}.{name}" if inside else name
        if field.required:
            found.append(path)
        if hasattr(field, "fields"):
            found += required(field, path)
        elif hasattr(field, "item") and hasattr(field.item, "fields"):
            found += required(field.item, f"{path}.0")
    return found


REQUIRED = [(urn, path) for urn, declared in TYPES.items() for path in required(declared.payload)]


@pytest.mark.parametrize(("urn", "path"), REQUIRED)
def test_every_required_field_is_missed_by_name(urn: str, path: str) -> None:
    with pytest.raises(InvalidTransactionDataError) as raised:
        read(value(urn, with_changes(urn, {path: ...})))

    assert (
        raised.value.description
        == f"transaction_data value 1: payload.{path.replace('.0', '[0]')} is missing"
    )


def test_fields_and_requiredness_are_those_of_the_contract() -> None:
    assert {urn: sorted(path for u, path in REQUIRED if u == urn) for urn in TYPES} == {
        SESSION: ["ip_address"],
        ITEMIZED: ["currency", "items", "items.0.label", "items.0.quantity", "items.0.unit_cost"],
        WIRE: [
            "amount",
            "currency",
            "recipient",
            "recipient.account_number",
            "recipient.institution_name",
            "recipient.routing_number",
            "source",
            "source.account_number",
            "source.individual_name",
            "source.routing_number",
        ],
        MANDATE: [
            "amount",
            "currency",
            "payee",
            "payee.name",
            "payment_instrument",
            "payment_instrument.id",
            "payment_instrument.type",
            "prompt_summary",
        ],
    }


# type, changes to the full payload (dotted paths), what the description says after the position
WRONG_PAYLOADS = [
    (SESSION, {"ip_address": "192.0.2.256"}, "payload.ip_address must be an IPv4 or IPv6 address"),
    (SESSION, {"ip_address": "192.0.2.01"}, "payload.ip_address must be an IPv4 or IPv6 address"),
    (SESSION, {"ip_address": "192.0.2.1/24"}, "payload.ip_address must be an IPv4 or IPv6 address"),
    (SESSION, {"ip_address": "fe80::1%eth0"}, "payload.ip_address must be an IPv4 or IPv6 address"),
    (SESSION, {"ip_address": "[::1]"}, "payload.ip_address must be an IPv4 or IPv6 address"),
    (SESSION, {"ip_address": ""}, "payload.ip_address must not be blank"),
    (SESSION, {"ip_address": 3221225985}, "payload.ip_address must be a string"),
    (SESSION, {"device_id": None}, "payload.device_id must be a string"),
    (SESSION, {"device_id": "x" * 201}, "payload.device_id must not be longer than 200 characters"),
    (SESSION, {"device_id": "\ud800"}, "must not contain half a character"),
    (SESSION, {"user_agent": "x"}, "payload.user_agent is unknown"),
    (ITEMIZED, {"title": "x" * 141}, "payload.title must not be longer than 140 characters"),
    (ITEMIZED, {"currency": "eur"}, "payload.currency must be an ISO 4217 currency code"),
    (ITEMIZED, {"currency": "XXX"}, "payload.currency must be an ISO 4217 currency code"),
    (ITEMIZED, {"currency": 978}, "payload.currency must be an ISO 4217 currency code"),
    (ITEMIZED, {"currency": ["EUR"]}, "payload.currency must be an ISO 4217 currency code"),
    (ITEMIZED, {"items": []}, "payload.items must have from 1 to 100 elements"),
    (ITEMIZED, {"items": [{"quantity": 1, "unit_cost": 1, "label": "x"}] * 101}, "payload.items must have"),
    (ITEMIZED, {"items": {}}, "payload.items must be an array"),
    (ITEMIZED, {"items": [1]}, "payload.items[0] must be a JSON object"),
    (ITEMIZED, {"items.0.quantity": 1.0}, "payload.items[0].quantity must be an integer"),
    (ITEMIZED, {"items.0.quantity": True}, "payload.items[0].quantity must be an integer"),
    (ITEMIZED, {"items.0.quantity": 0}, "payload.items[0].quantity must be from 1 to 1000000"),
    (ITEMIZED, {"items.1.quantity": 10**6 + 1}, "payload.items[1].quantity must be from 1 to 1000000"),
    (ITEMIZED, {"items.0.unit_cost": "9.99"}, "payload.items[0].unit_cost must be a number"),
    (ITEMIZED, {"items.0.unit_cost": True}, "payload.items[0].unit_cost must be a number"),
    (ITEMIZED, {"items.0.unit_cost": 10**12}, "payload.items[0].unit_cost must be more than -10000000"),
    (ITEMIZED, {"items.0.unit_cost": -(10**12)}, "payload.items[0].unit_cost must be more than -10000000"),
    (ITEMIZED, {"items.0.unit_cost": 1.1234567}, "payload.items[0].unit_cost must not have more than 6 dec"),
    (ITEMIZED, {"items.0.unit_cost": -(10**-7)}, "payload.items[0].unit_cost must not have more than 6 dec"),
    (ITEMIZED, {"items.0.unit_cost": -1000}, "payload.items must come to zero or more, and less than 1000"),
    (ITEMIZED, {"items.0.unit_cost": -400.005}, "payload.items must come to zero or more"),  # 0.02 too much
    (ITEMIZED, {"items.1.unit_cost": 10**9}, "payload.items must come to zero or more, and less than 1000"),
    (ITEMIZED, {"items.0.label": "  "}, "payload.items[0].label must not be blank"),
    (ITEMIZED, {"items.0.label": "\u200b\u3164\u0301"}, "payload.items[0].label must not be blank"),
    (ITEMIZED, {"total": 30}, "payload.total is unknown"),
    (WIRE, {"recipient": "Rosa"}, "payload.recipient must be a JSON object"),
    (WIRE, {"recipient.account_number": 12345}, "payload.recipient.account_number must be a string"),
    (WIRE, {"recipient.iban": "x"}, "payload.recipient.iban is unknown"),
    (WIRE, {"amount": 0}, "payload.amount must be more than zero"),
    (WIRE, {"amount": False}, "payload.amount must be a number"),
    (WIRE, {"amount": 1.234}, "payload.amount has more decimal places than GBP has (2)"),
    (WIRE, {"amount": 1.5, "currency": "JPY"}, "payload.amount has more decimal places than JPY has (0)"),
    (WIRE, {"amount": 1.2345, "currency": "KWD"}, "payload.amount has more decimal places than KWD has (3)"),
    (MANDATE, {"amount": -0.01}, "payload.amount must be zero or more"),
    (MANDATE, {"prompt_summary": "x" * 1001}, "payload.prompt_summary must not be longer than 1000"),
]


@pytest.mark.parametrize(("urn", "changes", "says"), WRONG_PAYLOADS)
def test_a_wrong_payload_is_refused_by_position_and_field(urn: str, changes: Any, says: str) -> None:
    wrong = value(urn, with_changes(urn, changes))

    with pytest.raises(InvalidTransactionDataError) as raised:
        read(f"{value(SESSION)} {wrong}")

    assert raised.value.description.startswith(f"transaction_data value 2: {says}")


WRONG_VALUES = {
    "nothing": ("", "must be base64url"),
    "too much padding": (raw("{}") + "==", "must be base64url"),
    "too little padding": (raw("{ }  ")[:-1] + "=", "must be base64url"),
    "padding without need": (raw("{ }") + "====", "must be base64url"),
    "nothing but padding": ("====", "must be base64url"),
    "standard base64": ("e30+", "must be base64url"),
    "a length no base64url has": ("e30a1", "must be base64url"),
    "bits that mean nothing": ("e31", "must be base64url"),
    "not UTF-8": (raw(b'{"a":"\xff"}'), "must be UTF-8"),
    "a byte order mark": (raw("\ufeff{}"), "must be valid JSON"),
    "JSON and more": (raw("{} {}"), "must be valid JSON"),
    "nothing inside": (raw(" "), "must be valid JSON"),
    "an array": (raw("[]"), "must be a JSON object"),
    "endless nesting": (raw('{"a":' * 1200), "must be valid JSON"),
    "an endless number": (around(SESSION, "9" * 5000), "must be valid JSON"),
    "an endless exponent": (around(SESSION, "1e99999999999999999999"), "must be valid JSON"),
    "a name twice": (
        around(SESSION, '{"ip_address":"::1","ip_address":"::2"}'),
        "must not name ip_address twice",
    ),
    "a name twice outside": (raw('{"type":"a","type":"b"}'), "must not name type twice"),
    "no type": (value(SESSION, type=...), "type is missing"),
    "a type that is a number": (value(SESSION, type=7), "type must be a string"),
    "an unknown type": (value(SESSION, type="urn:example:other"), "type is unknown"),
    "a type without its version": (value(WIRE, type=WIRE.removesuffix(":v1")), "type is unknown"),
    "no credential_ids": (value(SESSION, credential_ids=...), "credential_ids is missing"),
    "credential_ids a string": (value(SESSION, credential_ids="basic"), "credential_ids must be an array"),
    "no id in credential_ids": (value(SESSION, credential_ids=[]), "credential_ids must have from 1"),
    "a number in credential_ids": (value(SESSION, credential_ids=[1]), "credential_ids[0] must be a string"),
    "another credential": (value(SESSION, credential_ids=["basic", "x"]), "credential_ids[1] names no"),
    "no payload": (value(SESSION, payload=...), "payload is missing"),
    "payload an array": (value(SESSION, payload=[]), "payload must be a JSON object"),
    "an unknown member": (value(SESSION, note="x"), "note is unknown"),
    "another hash": (
        value(SESSION, transaction_data_hashes_alg=["sha-512"]),
        "transaction_data_hashes_alg must",
    ),
}
for _constant in ("NaN", "Infinity", "-Infinity"):
    WRONG_VALUES[_constant] = (
        around(WIRE, f'{{"amount":{_constant}}}'),
        f"must not contain {_constant}",
    )


@pytest.mark.parametrize(("wrong", "says"), WRONG_VALUES.values(), ids=WRONG_VALUES.keys())
def test_a_wrong_value_is_refused_by_position(wrong: str, says: str) -> None:
    with pytest.raises(InvalidTransactionDataError) as raised:
        read(f"{value(SESSION)} {value(SESSION)} {wrong}")

    assert raised.value.description.startswith(f"transaction_data value 3: {says}")


def test_two_spaces_have_a_value_between_them_that_is_none() -> None:
    with pytest.raises(InvalidTransactionDataError, match="value 2: must be base64url"):
        read(f"{value(SESSION)}  {value(SESSION)}")


def test_values_keep_their_order_and_the_strings_as_received() -> None:
    values = [value(MANDATE), value(SESSION), value(MANDATE), value(WIRE)]

    assert [data.received for data in read(" ".join(values))] == values


@pytest.mark.parametrize("spaces", range(3))
def test_padding_is_accepted_and_hashed_as_it_was_sent(spaces: int) -> None:
    text = json.dumps({"type": SESSION, "credential_ids": ["basic"], "payload": FULL[SESSION]}) + " " * spaces
    padded = base64.urlsafe_b64encode(text.encode()).decode()

    (data,) = read(padded)

    assert data.received == padded
    assert data.hash == encode(sha256(padded.encode()).digest())
    assert read(padded.rstrip("="))[0].payload == data.payload


@given(st.binary(max_size=40), st.text("AQZaz09-_=", max_size=8))
def test_only_the_two_spellings_of_octets_are_base64url(octets: bytes, tail: str) -> None:
    padded = base64.urlsafe_b64encode(octets).decode()
    bare = padded.rstrip("=")

    assert is_base64url(padded) is is_base64url(bare) is bool(octets)
    if is_base64url(bare + tail):
        again = bare + tail
        octets = base64.urlsafe_b64decode(again.rstrip("=") + "=" * (-len(again.rstrip("=")) % 4))
        assert again in (encode(octets), base64.urlsafe_b64encode(octets).decode())


def test_values_may_come_as_a_json_array() -> None:
    values = [value(MANDATE), value(SESSION)]

    assert [data.received for data in read(json.dumps(values))] == values


@pytest.mark.parametrize(
    ("parameter", "says"),
    [
        ("[]", "transaction_data must have from 1 to 10 values"),
        ("[", "transaction_data as an array must be valid JSON"),
        ("[1]", "transaction_data value 1: must be a string"),
        ("[null]", "transaction_data value 1: must be a string"),
        ("[{}]", "transaction_data value 1: must be a string"),
        ('[{"a":1,"a":2}]', "transaction_data as an array must not name a twice"),
        ("[NaN]", "transaction_data as an array must not contain NaN"),
        ('[""]', "transaction_data value 1: must be base64url"),
        ("{}", "transaction_data value 1: must be base64url"),
    ],
)
def test_an_array_is_read_as_strictly(parameter: str, says: str) -> None:
    with pytest.raises(InvalidTransactionDataError) as raised:
        read(parameter)

    assert raised.value.description.startswith(says)


def test_there_may_be_ten_values_and_no_more() -> None:
    assert len(read(" ".join([value(SESSION)] * 10))) == 10
    with pytest.raises(InvalidTransactionDataError, match="from 1 to 10 values"):
        read(" ".join([value(SESSION)] * 11))


def test_a_value_may_have_eight_kilobytes_and_no_more() -> None:
    payload = '{"ip_address":"::1"' + " " * 3000 + "}"
    longest = around(SESSION, payload)
    while len(longest) < LONGEST_VALUE:
        payload = payload.replace("}", " }")
        longest = around(SESSION, payload)

    assert len(longest) == LONGEST_VALUE
    assert read(longest)
    with pytest.raises(InvalidTransactionDataError, match="must not be longer than 8192"):
        read(longest + "AAAA")


def test_amounts_are_decimals_exactly_as_written() -> None:
    payload = json.dumps(FULL[MANDATE])
    for written, amount in [
        ("0.1", "0.1"),
        ("1e2", "100"),
        ("24.50000", "24.5"),
        ("-0.0", "0"),
        ("0", "0"),
        ("999999999999.99", "999999999999.99"),
    ]:
        (data,) = read(around(MANDATE, payload.replace("24.5", written)))
        assert isinstance(data.payload["amount"], Decimal)
        assert data.payload["amount"] == Decimal(amount)
        assert not data.payload["amount"].is_signed()


INEXACT = {
    "0.30000000000000004": "0.30",  # 0.1 + 0.2 with floats
    "8.940000000000001": "8.94",  # 1.1 + 2.2 + 5.64
    "24.499999999999996": "24.50",
    "24.500000001": "24.50",
    "24.5000000011": None,
    "24.499": None,
    "0.0000000001": None,  # must not become nothing
    "1e-9": None,
}


@pytest.mark.parametrize(("written", "shown"), INEXACT.items(), ids=INEXACT.keys())
def test_an_amount_may_be_as_inexact_as_arithmetic_with_floats(written: str, shown: str | None) -> None:
    text = around(MANDATE, json.dumps(FULL[MANDATE]).replace("24.5", written))
    if shown is None:
        with pytest.raises(InvalidTransactionDataError, match=r"payload\.amount has more decimal places"):
            read(text)
        return
    (data,) = read(text)
    assert str(display(data)["payment"]["amount"]).startswith(shown)


@pytest.mark.parametrize(
    ("written", "price"),
    [
        ("9.999", "9.999"),
        ("0.000001", "0.000001"),
        ("1e-6", "0.000001"),
        ("1.000001000000000", "1.000001"),
        ("0.30000000000000004", "0.3"),  # 0.1 + 0.2 with floats
        ("0.99999999", None),
        ("0.1", "0.1"),
        ("12E-1", "1.2"),
        ("-0.01", "-0.01"),
        ("-9", "-9"),
        ("-0", "0"),
        ("-0.0", "0"),
        ("-0e-9", "0"),
        ("1e-7", None),
        ("-1e-400", None),
        ("1e-999999", None),
        ("0.1e-999999", None),
        ("1e999999", None),
        ("-1e999999", None),
        ("-1E+12", None),
        ("-" + "9" * 4000, None),
    ],
)
def test_a_price_is_a_decimal_exactly_as_written_of_six_decimal_places(
    written: str, price: str | None
) -> None:
    payload = json.dumps(FULL[ITEMIZED]).replace("9.99", written)
    if price is None:
        with pytest.raises(InvalidTransactionDataError, match=r"payload\.items\[0\]\.unit_cost"):
            read(around(ITEMIZED, payload))
        return
    (data,) = read(around(ITEMIZED, payload))
    cost = data.payload["items"][0]["unit_cost"]
    assert (type(cost), cost) == (Decimal, Decimal(price))
    assert cost.is_signed() is price.startswith("-")


@pytest.mark.parametrize("number", ["1e-400", "1e400", "1e999999", "0.1e-999999", "1E+12", "1000000000000"])
def test_numbers_beyond_sense_are_refused(number: str) -> None:
    with pytest.raises(InvalidTransactionDataError, match=r"payload\.amount"):
        read(around(WIRE, json.dumps(FULL[WIRE]).replace("1234.5", number)))


def test_the_hash_algorithms_of_openid4vp_may_be_named() -> None:
    assert read(value(SESSION, transaction_data_hashes_alg=["sha-512", "sha-256"]))


def test_only_payments_are_consequential() -> None:
    assert {urn: read(value(urn))[0].consequential for urn in TYPES} == {
        SESSION: False,
        ITEMIZED: True,
        WIRE: True,
        MANDATE: True,
    }


@given(st.text())
def test_any_text_is_refused_or_read(text: str) -> None:
    try:
        parsed = read(text)
    except InvalidTransactionDataError:
        return
    assert parsed


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)


def places(tree: Any, inside: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [inside] if inside else []
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for name, inner in pairs:
        found += places(inner, (*inside, name))
    return found


@settings(max_examples=3 * settings.default.max_examples)
@given(st.data())
def test_any_json_in_any_place_is_accepted_clean_or_refused(data: st.DataObject) -> None:
    urn = data.draw(st.sampled_from(sorted(FULL)))
    place = data.draw(st.sampled_from(places(FULL[urn])))
    payload = with_changes(urn, {".".join(map(str, place)): data.draw(json_values)})
    try:
        (parsed,) = read(value(urn, payload))
    except InvalidTransactionDataError:
        return
    numbers = [v for v in parsed.payload.values() if not isinstance(v, (str, dict, tuple))]
    assert all(isinstance(number, Decimal) and number.is_finite() for number in numbers)
