"""Transaction data as the person asked reads it: blocks of text, nothing of the payload left out.

The blocks are what `consent` renders without knowing the types; every string in them is plain text.
"""

import re
from typing import Any

from django.utils.translation import gettext as _

from infra.characters import legible
from presentation.transaction_data import line_items, money
from presentation.transaction_data.fields import AccountNumber, Field, ListOf, Object
from presentation.transaction_data.types import Figure, Items, Part, Quote, Rows, TransactionDataType

Block = dict[str, Any]

_UNGROUPED = re.compile(r"[0-9A-Za-z]{6,}")


def blocks(declared: TransactionDataType, payload: dict[str, Any]) -> list[Block]:
    """The blocks of one clean payload in the order its type lays them out; empty ones are left out."""
    made = (_block(part, declared.payload, payload) for part in declared.layout)
    return [block for block in made if block is not None]


def _block(part: Part, schema: Object, payload: dict[str, Any]) -> Block | None:
    match part:
        case Figure():
            currency = payload["currency"]
            amount = line_items.total(payload[part.sum_of], currency) if part.sum_of else payload[part.field]
            return {"block": "amount", "label": str(part.label), "value": money.shown(amount, currency)}
        case Quote():
            return {"block": "quote", "text": legible(payload[part.field], keep_lines=True)}
        case Rows():
            return _rows(part, schema, payload)
        case Items():
            return _items(part, schema.fields[part.field], payload)


def _rows(part: Rows, schema: Object, payload: dict[str, Any]) -> Block | None:
    if part.inside:
        inner = schema.fields[part.inside]
        assert isinstance(inner, Object)
        schema, payload = inner, payload[part.inside]
    names = part.fields or tuple(schema.fields)
    rows = [
        [str(schema.fields[name].label), _text(schema.fields[name], payload[name])]
        for name in names
        if payload.get(name)
    ]
    return {"block": "rows", "heading": str(part.heading), "rows": rows} if rows else None


def _items(part: Items, schema: Field, payload: dict[str, Any]) -> Block:
    assert isinstance(schema, ListOf)
    assert isinstance(schema.item, Object)
    label, quantity, cost = (schema.item.fields[name].label for name in ("label", "quantity", "unit_cost"))
    currency = payload["currency"]
    items = payload[part.field]
    return {
        "block": "items",
        "heading": str(part.heading),
        "columns": [str(label), str(quantity), str(cost), _line_total_heading(items, currency)],
        "rows": [
            [
                legible(item["label"]),
                f"{item['quantity']:,}",
                money.price_shown(item["unit_cost"], currency),
                money.shown(line_items.line_total(item, currency), currency),
            ]
            for item in items
        ],
        "total": [_("Total"), money.shown(line_items.total(items, currency), currency)],
    }


def _line_total_heading(items: tuple[dict[str, Any], ...], currency: str) -> str:
    """Says so when a line is not exactly quantity times price."""
    rounded = any(line_items.line_total(item, currency) != line_items.exact_total(item) for item in items)
    return _("Line total, rounded") if rounded else _("Line total")


def _text(field: Field, value: str) -> str:
    if isinstance(field, AccountNumber) and _UNGROUPED.fullmatch(value):
        return " ".join(value[start : start + 4] for start in range(0, len(value), 4))
    return legible(value)
