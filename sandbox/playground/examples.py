"""Example transactions for the playground: one of each type, as JSON that a developer can edit."""

import json
from collections.abc import Mapping
from typing import Any

from presentation.transaction_data import types

_PAYLOADS: dict[str, dict[str, Any]] = {
    types.SESSION_DATA.urn: {"ip_address": "203.0.113.7", "device_id": "laptop-42"},
    types.PAYMENT_ITEMIZED.urn: {
        "title": "Saturday’s shopping",
        "description": "To collect from 10 o’clock",
        "currency": "EUR",
        "items": [
            {"quantity": 2, "unit_cost": 11.9, "label": "Rioja, 0.75 l"},
            {"quantity": 6, "unit_cost": 1.45, "label": "Pale ale, 0.33 l"},
            {"quantity": 340, "unit_cost": 0.012345, "label": "Olives, per gram"},
            {"quantity": 1, "unit_cost": -2.5, "label": "Regular customer’s discount"},
        ],
    },
    types.WIRE_INSTRUCTIONS.urn: {
        "recipient": {
            "individual_name": "Mary Landlady",
            "institution_name": "Harbour Savings Bank",
            "routing_number": "021000021",
            "account_number": "000123456789",
        },
        "source": {
            "individual_name": "Alice Example",
            "institution_name": "Acme Bank",
            "account_number": "000987654321",
            "routing_number": "026009593",
        },
        "amount": 950,
        "currency": "USD",
        "memo": "Rent for June",
    },
    types.PAYMENT_MANDATE.urn: {
        "payment_instrument": {"type": "card", "id": "Visa ending 4242", "instruction": "Once, today"},
        "payee": {"name": "Corner Shop", "website": "shop.example"},
        "prompt_summary": "Pay Corner Shop 32.50 euros for wine and beer.",
        "amount": 32.5,
        "currency": "EUR",
    },
}


def _text(urn: str, payload: Mapping[str, Any]) -> str:
    """The JSON text of a value of `transaction_data`."""
    whole = {"type": urn, "credential_ids": ["basic"], "payload": payload}
    return json.dumps(whole, indent=2, ensure_ascii=False)


# By the URN of the type.
EXAMPLES: Mapping[str, str] = {urn: _text(urn, payload) for urn, payload in _PAYLOADS.items()}
