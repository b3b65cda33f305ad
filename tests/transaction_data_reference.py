"""Writes docs/transaction-data.md from the declared types, so that both always agree.

`python -m tests.transaction_data_reference > docs/transaction-data.md`
"""

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from infra import base64url
from presentation.transaction_data.entries import HASH_ALGORITHM, LONGEST_IN_ALL, LONGEST_VALUE, MOST_VALUES
from presentation.transaction_data.fields import (
    AccountNumber,
    Amount,
    Currency,
    Field,
    IPAddress,
    ListOf,
    Object,
)
from presentation.transaction_data.types import TYPES, TransactionDataType

_HEAD = f"""# Transaction data

<!-- Written by `python -m tests.transaction_data_reference` from presentation/transaction_data/types.py. -->

`transaction_data` binds a presentation to something the person agrees to together with sharing their
claims. The person sees it before they decide, and the Key Binding JWT carries a hash of it.

## Sending it

* Each value is a JSON object, UTF-8, base64url, with or without padding. The hash is over the string as sent.
* Values are separated by single spaces, or are a JSON array of strings (OpenID4VP 1.0).
* At most {MOST_VALUES} values, {LONGEST_VALUE:,} characters each, {LONGEST_IN_ALL:,} characters in all.
* Names that are not listed here, names that occur twice, `NaN` and `Infinity` are refused. A boolean is
  not a number, and `2.0` is not an integer. An amount may be a billionth more or less than it should be, as
  `0.1 + 0.2` is with floats.
* An optional text may be empty. A required one may not be blank.

"""

_CHECKING = f"""
## Checking it

The KB-JWT has `transaction_data_hashes`: one entry per value in the order of the request, each the
base64url of the SHA-256 of the value exactly as you sent it (the base64url text, not the JSON inside), and
`transaction_data_hashes_alg`, which is `{HASH_ALGORITHM}`. Compare every one.

## When something is wrong

The answer is `error=invalid_transaction_data`, and `error_description` names the value and the field:
`transaction_data value 2: payload.items[0].quantity must be an integer`. Values count from 1, elements
from 0.
"""


def documentation() -> str:
    """The page as Markdown."""
    envelope = next(iter(TYPES.values())).envelope  # the same for all but the payload
    sections = (_type_section(declared) for declared in TYPES.values())
    return _HEAD + "\n".join(_table("Each object", envelope)) + _CHECKING + "".join(sections)


def _type_section(declared: TransactionDataType) -> str:
    value = example(declared)
    text = json.dumps(value, indent=2)
    encoded = base64url.encode(json.dumps(value, separators=(",", ":")).encode())
    digest = base64url.encode(hashlib.sha256(encoded.encode()).digest())
    return "\n".join(
        [
            f"\n## `{declared.urn}`\n",
            declared.about + "\n",
            *_tables("payload", declared.payload),
            *([f"Rules:\n\n{declared.rules}"] if declared.rules else []),
            "An example, as JSON:\n",
            f"```json\n{text}\n```\n",
            f"As a value (written without spaces):\n\n```\n{encoded}\n```\n",
            f"Its entry in `transaction_data_hashes`:\n\n```\n{digest}\n```\n",
        ]
    )


def _tables(name: str, declared: Object) -> Iterator[str]:
    yield from _table(f"`{name}`", declared)
    for inner_name, inner in declared.fields.items():
        if isinstance(inner, Object):
            yield from _tables(f"{name}.{inner_name}", inner)
        elif isinstance(inner, ListOf) and isinstance(inner.item, Object):
            yield from _tables(f"{name}.{inner_name}[]", inner.item)


def _table(title: str, declared: Object) -> Iterator[str]:
    yield f"{title}:\n"
    yield "| Property | Type | Required | Description | Rule |\n|---|---|---|---|---|"
    for name, field in declared.fields.items():
        required = "yes" if field.required else "no"
        yield f"| `{name}` | {field.type_name} | {required} | {field.about} | {field.rule} |"
    yield ""


_EXAMPLES: dict[str, Any] = {
    "items": [
        {"quantity": 2, "unit_cost": 24.5, "label": "Tea"},
        {"quantity": 1500, "unit_cost": 0.000345, "label": "Text messages"},
        {"quantity": 1, "unit_cost": -5, "label": "Voucher"},
    ],
    "title": "Order 1042",
    "description": "Breakfast for two",
    "individual_name": "Alice Archer",
    "institution_name": "First Bank",
    "routing_number": "021000021",
    "website": "first.example",
    "memo": "Rent for May",
    "device_id": "b7c1f0",
    "instruction": "Charge once",
    "name": "Corner Shop",
    "prompt_summary": "Pay 24.50 EUR to Corner Shop",
    "id": "c-1042",
    "type": "card",
}


def example(declared: TransactionDataType) -> dict[str, Any]:
    """A valid value of the type that has every field."""
    return {
        "type": declared.urn,
        "credential_ids": ["basic"],
        "payload": _example("payload", declared.payload),
    }


def _example(name: str, field: Field) -> Any:
    match field:
        case Object():
            return {inner_name: _example(inner_name, inner) for inner_name, inner in field.fields.items()}
        case ListOf():
            return _EXAMPLES[name]
        case Amount():
            return 24.5
        case Currency():
            return "EUR"
        case IPAddress():
            return "192.0.2.17"
        case AccountNumber():
            return "DE89370400440532013000"
        case _:
            return _EXAMPLES[name]


if __name__ == "__main__":
    print(documentation(), end="")
