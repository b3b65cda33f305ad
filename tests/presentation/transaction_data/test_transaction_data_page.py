"""docs/transaction-data.md has every type and field as declared, and examples that are accepted."""

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from presentation.transaction_data.entries import LONGEST_IN_ALL, LONGEST_VALUE, MOST_VALUES, parse
from presentation.transaction_data.fields import (
    MOST_MONEY,
    Amount,
    Currency,
    Field,
    Integer,
    IPAddress,
    ListOf,
    Object,
    Text,
    UnitPrice,
)
from presentation.transaction_data.money import PRICE_PLACES
from presentation.transaction_data.types import TYPES

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "transaction-data.md").read_text()
Row = tuple[str, str, str, str]  # name, type, whether it is required, rule


def section(urn: str) -> str:
    return PAGE.split(f"## `{urn}`")[1].split("\n## ")[0]


def tables_in(text: str) -> dict[str, list[Row]]:
    """The rows of each table by the line above it; each has a description besides."""
    found = re.findall(r"^(.+):\n\n\| Property .*\n\|---.*\n((?:\|.*\n)+)", text, re.MULTILINE)
    tables: dict[str, list[Row]] = {}
    for title, lines in found:
        cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines.splitlines()]
        assert all(about for _name, _type, _required, about, _rule in cells)
        tables[title] = [(name, type_, required, rule) for name, type_, required, _about, rule in cells]
    return tables


def declared(name: str, whole: Object) -> Iterator[tuple[str, list[Row]]]:
    """The tables that these fields need, those of objects inside as well."""
    yield (
        f"`{name}`",
        [
            (f"`{inner}`", type_of(field), "yes" if field.required else "no", rule_of(field))
            for inner, field in whole.fields.items()
        ],
    )
    for inner, field in whole.fields.items():
        if isinstance(field, Object):
            yield from declared(f"{name}.{inner}", field)
        elif isinstance(field, ListOf) and isinstance(field.item, Object):
            yield from declared(f"{name}.{inner}[]", field.item)


def type_of(field: Field) -> str:
    match field:
        case Integer():
            return "Integer"
        case Amount() | UnitPrice():
            return "Float"
        case Object():
            return "Object"
        case ListOf():
            return f"{type_of(field.item)}[]"
        case _:
            return "String"


def rule_of(field: Field) -> str:
    match field:
        case IPAddress():
            return "an IPv4 or IPv6 address"
        case Text():
            return f"at most {field.longest} characters" + ("; not blank" if field.required else "")
        case Currency():
            return "an ISO 4217 code in capital letters, such as `EUR`"
        case Integer():
            return f"from {field.least:,} to {field.most:,}"
        case Amount():
            least = "zero or more" if field.zero else "more than zero"
            return f"{least}, less than {MOST_MONEY:,}; no more decimal places than the currency has"
        case UnitPrice():
            return (
                f"more than -{MOST_MONEY:,}, less than {MOST_MONEY:,}; at most {PRICE_PLACES} decimal places"
                "; negative for a discount"
            )
        case ListOf():
            return f"from 1 to {field.most}"
        case _:
            return "see below"


def test_every_type_has_a_section_and_no_other() -> None:
    assert re.findall(r"^## `(.+)`$", PAGE, re.MULTILINE) == list(TYPES)


@pytest.mark.parametrize("urn", TYPES)
def test_every_field_of_a_type_is_in_its_tables_as_declared(urn: str) -> None:
    assert tables_in(section(urn)) == dict(declared("payload", TYPES[urn].payload))


@pytest.mark.parametrize("urn", TYPES)
def test_every_member_around_the_payload_is_in_the_first_table(urn: str) -> None:
    head = PAGE.split("\n## `")[0]
    whole = Object(fields=TYPES[urn].envelope.fields)

    assert tables_in(head) == {"Each object": next(declared("", whole))[1]}


def test_the_limits_are_those_of_the_code() -> None:
    most = f"{MOST_VALUES} values, {LONGEST_VALUE:,} characters each, {LONGEST_IN_ALL:,} characters in all"

    assert f"At most {most}." in PAGE
    assert f"zero or more, and less than {MOST_MONEY:,}." in PAGE


@pytest.mark.parametrize("urn", TYPES)
def test_its_examples_have_every_field_and_are_accepted_and_their_hashes_are_right(urn: str) -> None:
    value, digest = re.findall(r"```\n([A-Za-z0-9_-]+)\n```", section(urn))
    (text,) = re.findall(r"```json\n(.+?)\n```", section(urn), re.DOTALL)

    (data,) = parse(value, credential_ids=["basic"], allowed_types=[urn])

    assert data.type == urn
    assert json.loads(base64.urlsafe_b64decode(value + "==")) == json.loads(text)
    assert base64.urlsafe_b64encode(hashlib.sha256(value.encode()).digest()).decode() == digest + "="
    for rows in tables_in(section(urn)).values():
        assert all(f'"{name.strip("`")}":' in text for name, *_ in rows)
