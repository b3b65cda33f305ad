"""Details of transactions, and where the database has them in clear."""

import base64
import json
import re
from collections.abc import Iterator
from typing import Any

from django.db import connection

URN = "urn:service:params:vc:transaction-data:"
SAID: dict[str, dict[str, Any]] = {
    URN + "session-data": {"ip_address": "203.0.113.177", "device_id": "device-77310"},
    URN + "payment-itemized:v1": {
        "title": "Planted order",
        "description": "Planted description",
        "currency": "EUR",
        "items": [{"quantity": 7719, "unit_cost": 8412.37, "label": "Planted goods"}],
    },
    URN + "wire-instructions:v1": {
        "recipient": {
            "individual_name": "Petra Payee",
            "institution_name": "Planted Savings",
            "routing_number": "071923284",
            "account_number": "DE02120300000000202051",
            "website": "payee.example",
        },
        "source": {
            "individual_name": "Percy Payer",
            "institution_name": "Planted Union",
            "account_number": "60161331926819",
            "routing_number": "40478409127733",
        },
        "amount": 77123.45,
        "currency": "GBP",
        "memo": "Planted memo",
    },
    URN + "payment-mandate:v1": {
        "payment_instrument": {
            "type": "card",
            "id": "searched_texts-card",
            "instruction": "searched_texts-charge",
        },
        "payee": {"id": "searched_texts-shop", "name": "Planted Shop", "website": "searched_texts.example"},
        "prompt_summary": "Planted summary",
        "amount": 88321.5,
        "currency": "EUR",
    },
}
VALUES = [
    base64.urlsafe_b64encode(
        json.dumps({"type": urn, "credential_ids": ["basic"], "payload": payload}).encode()
    )
    .rstrip(b"=")
    .decode()
    for urn, payload in SAID.items()
]
TRANSACTION_DATA = " ".join(VALUES)
NOT_SEARCHED = {"EUR", "GBP", "card", "7719"}  # too short or too common to be recognised


def leaves(tree: Any) -> Iterator[str]:
    """All values in the tree, as text."""
    if isinstance(tree, dict | list):
        for inner in tree.values() if isinstance(tree, dict) else tree:
            yield from leaves(inner)
    else:
        yield str(tree)


def searched_texts() -> set[str]:
    """All values of the transactions, in lower case without spaces and commas, as they are searched for."""
    said = {leaf for payload in SAID.values() for leaf in leaves(payload)} - NOT_SEARCHED
    parts = {value[start : start + 40] for value in VALUES for start in range(100, len(value) - 40, 20)}
    return {plain(text) for text in said | parts}


def plain(text: str) -> str:
    """The text in lower case without spaces and commas."""
    return re.sub(r"[\s,\xa0]", "", text).lower()


def stored() -> dict[str, str]:
    """The content of every column of every table as text."""
    content = {}
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')  # noqa: S608
            content[table] = plain("\n".join(_text(value) for row in cursor for value in row))
    return content


def _text(value: Any) -> str:
    if isinstance(value, memoryview | bytes):
        return bytes(value).decode("latin-1")
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
