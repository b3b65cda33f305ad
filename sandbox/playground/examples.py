"""Example transactions for the playground: one of each type, as JSON that a developer can edit.

`credential_ids` in them are the ids of the credential queries of the requested scopes.
"""

import json
import re
from collections.abc import Iterable
from typing import Any

from presentation.scopes import catalogue
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

URNS = tuple(_PAYLOADS)
_IDS = re.compile(r'("credential_ids":\s*)\[([^\[\]]*)\]')


def example(urn: str, scopes: Iterable[str]) -> str:
    """The JSON text of an example value of `transaction_data`, for a request with these scopes."""
    whole = {"type": urn, "credential_ids": _query_ids(scopes), "payload": _PAYLOADS[urn]}
    return json.dumps(whole, indent=2, ensure_ascii=False)


def for_scopes(text: str, scopes: Iterable[str]) -> str:
    """The text; with the ids of these scopes' queries if it names the query of a scope that is not requested.

    The service refuses such a text, which was right before the scopes changed. request-page.js does the same.
    """
    wanted = _query_ids(scopes)
    match = _IDS.search(text)
    if match is None:
        return text
    others = (scope.query_id for scope in catalogue.current().values() if scope.query_id not in wanted)
    if not any(f'"{other}"' in match[2] for other in others):
        return text
    ids = json.dumps(wanted, indent=2).replace("\n", "\n  ")
    return text[: match.start()] + match[1] + ids + text[match.end() :]


def _query_ids(scopes: Iterable[str]) -> list[str]:
    """The ids of the credential queries of these scopes; that of the first scope if none of them exists."""
    known_scopes = catalogue.current()
    ids = [known_scopes[urn].query_id for urn in dict.fromkeys(scopes) if urn in known_scopes]
    return ids or [scope.query_id for scope in known_scopes.values()][:1]
