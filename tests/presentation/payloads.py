"""Valid transaction data of every type; tests change one field at a time."""

import base64
import json
from copy import deepcopy
from typing import Any

URN = "urn:service:params:vc:transaction-data:"
SESSION = URN + "session-data"
ITEMIZED = URN + "payment-itemized:v1"
WIRE = URN + "wire-instructions:v1"
MANDATE = URN + "payment-mandate:v1"

FULL: dict[str, dict[str, Any]] = {
    SESSION: {"ip_address": "2001:db8::17", "device_id": "d-4711"},
    ITEMIZED: {
        "title": "Order 17",
        "description": "Tea and cups",
        "currency": "EUR",
        "items": [
            {"quantity": 3, "unit_cost": 9.99, "label": "Tea"},
            {"quantity": 1200, "unit_cost": 1, "label": "Cup"},
        ],
    },
    WIRE: {
        "recipient": {
            "individual_name": "Rosa Recipient",
            "institution_name": "First Bank",
            "routing_number": "021000021",
            "account_number": "DE89370400440532013000",
            "website": "https://first.example",
        },
        "source": {
            "individual_name": "Alice Archer",
            "institution_name": "Second Bank",
            "account_number": "12345678",
            "routing_number": "40-47-84",
        },
        "amount": 1234.5,
        "currency": "GBP",
        "memo": "Rent for May",
    },
    MANDATE: {
        "payment_instrument": {"type": "card", "id": "pi_123", "instruction": "once"},
        "payee": {"id": "m-1", "name": "Corner Shop", "website": "shop.example"},
        "prompt_summary": "Pay Corner Shop once",
        "amount": 24.5,
        "currency": "EUR",
    },
}

OPTIONAL = {
    SESSION: ["device_id"],
    ITEMIZED: ["title", "description"],
    WIRE: ["recipient.individual_name", "recipient.website", "source.institution_name", "memo"],
    MANDATE: ["payment_instrument.instruction", "payee.id", "payee.website"],
}


def with_changes(urn: str, changes: dict[str, Any]) -> dict[str, Any]:
    """The full payload with values set at dotted paths; `...` removes a field."""
    payload = deepcopy(FULL[urn])
    for path, value in changes.items():
        *parents, name = [int(step) if step.isdigit() else step for step in path.split(".")]
        place: Any = payload
        for step in parents:
            place = place[step]
        if value is ...:
            del place[name]
        else:
            place[name] = value
    return payload


def raw(text: str | bytes) -> str:
    """Text as a base64url value."""
    octets = text.encode() if isinstance(text, str) else text
    return base64.urlsafe_b64encode(octets).rstrip(b"=").decode()


def value(urn: str, payload: Any = None, **changes: Any) -> str:
    """One encoded value; `changes` are members beside the payload, `...` removes one."""
    said = {"type": urn, "credential_ids": ["basic"], "payload": FULL[urn] if payload is None else payload}
    return raw(json.dumps({k: v for k, v in (said | changes).items() if v is not ...}))


def around(urn: str, payload: str) -> str:
    """One encoded value whose payload is given as text, so that it may be invalid JSON."""
    return raw(f'{{"type":"{urn}","credential_ids":["basic"],"payload":{payload}}}')
