"""Transaction data as the consent page shows it: blocks of text that leave out nothing of the payload.

`consent` renders the blocks without knowing the types. Every string in them is plain text.
"""

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _

from infra import localised
from infra.characters import legible
from presentation.transaction_data import line_items, money
from presentation.transaction_data.fields import AccountNumber, Field, ListOf, Object
from presentation.transaction_data.types import TransactionDataType

Block = dict[str, Any]

_UNGROUPED = re.compile(r"[0-9A-Za-z]{6,}")


def blocks(declared: TransactionDataType, payload: dict[str, Any]) -> list[Block]:
    """The blocks of one validated payload in the order of its type's layout; empty ones are left out."""
    made = [_amount(declared, payload)] if declared.amount else []
    return made + [block for part in declared.layout if (block := _block(part, declared.fields, payload))]


def _amount(declared: TransactionDataType, payload: dict[str, Any]) -> Block:
    label, amount = declared.fields[declared.amount].label, payload[declared.amount]
    if not isinstance(amount, Decimal):
        label, amount = _("To pay"), line_items.total(amount, payload["currency"])
    return {"block": "amount", "label": str(label), "value": money.shown(amount, payload["currency"])}


def _block(part: str | tuple[str, ...], fields: Mapping[str, Field], payload: dict[str, Any]) -> Block | None:
    if isinstance(part, tuple):
        return _rows("", fields, payload, part)
    match fields[part]:
        case Object() as inner:
            return _rows(inner.label, inner.fields, payload[part], inner.fields)
        case ListOf(item=Object() as item) as items:
            return _items(items.label, item.fields, payload[part], payload["currency"])
        case _:
            return {"block": "quote", "text": legible(payload[part], keep_lines=True)}


def _rows(
    heading: str | Promise, fields: Mapping[str, Field], payload: dict[str, Any], names: Iterable[str]
) -> Block | None:
    rows = [
        [str(fields[name].label), _text(fields[name], payload[name])] for name in names if payload.get(name)
    ]
    return {"block": "rows", "heading": str(heading), "rows": rows} if rows else None


def _items(
    heading: str | Promise, fields: Mapping[str, Field], items: tuple[dict[str, Any], ...], currency: str
) -> Block:
    columns = [str(fields[name].label) for name in ("label", "quantity", "unit_cost")]
    return {
        "block": "items",
        "heading": str(heading),
        "columns": [*columns, _line_total_heading(items, currency)],
        "rows": [
            [
                legible(item["label"]),
                localised.separated(f"{item['quantity']:,}"),
                money.price_shown(item["unit_cost"], currency),
                money.shown(line_items.line_total(item, currency), currency),
            ]
            for item in items
        ],
        "total": [_("Total"), money.shown(line_items.total(items, currency), currency)],
    }


def _line_total_heading(items: tuple[dict[str, Any], ...], currency: str) -> str:
    """The heading says “rounded” if any line is not exactly quantity times price."""
    rounded = any(line_items.line_total(item, currency) != line_items.exact_total(item) for item in items)
    return _("Line total, rounded") if rounded else _("Line total")


def _text(field: Field, value: str) -> str:
    if isinstance(field, AccountNumber) and _UNGROUPED.fullmatch(value):
        return " ".join(value[start : start + 4] for start in range(0, len(value), 4))
    return legible(value)
