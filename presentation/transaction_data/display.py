"""Transaction data as the consent page shows it: blocks of text that leave out nothing of the payload.

`consent` renders the blocks without knowing the types. Every string in them is plain text. Labels are the
English source texts, which `consent` translates; amounts are numbers, which it writes.
"""

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from infra.characters import legible
from infra.words import Words
from presentation.transaction_data import money
from presentation.transaction_data.fields import AccountNumber, Field, ListOf, Object, PaymentInstrument
from presentation.transaction_data.types import KINDS_OF_INSTRUMENTS, TransactionDataType

Block = dict[str, Any]

_UNGROUPED = re.compile(r"[0-9A-Za-z]{6,}")
_IBAN = re.compile(r"[A-Z]{2}[0-9]{2}[0-9A-Z]{11,30}")


def blocks(declared: TransactionDataType, payload: dict[str, Any]) -> list[Block]:
    """The blocks of one validated payload in the order of its type's layout; empty ones are left out."""
    made = [_amount(declared, payload)] if declared.amount else []
    made += [block for part in declared.layout if (block := _block(part, declared.fields, payload))]
    if declared.introduction and made:
        made[0]["introduction"] = str(declared.introduction)
    return made


def _amount(declared: TransactionDataType, payload: dict[str, Any]) -> Block:
    of_items = not isinstance(payload[declared.amount], Decimal)
    label = _("To pay") if of_items else str(declared.fields[declared.amount].label)
    return {"block": "amount", "label": label, "value": _sum(declared, payload)}


def _sum(declared: TransactionDataType, payload: dict[str, Any]) -> dict[str, str]:
    amount = payload[declared.amount]
    if not isinstance(amount, Decimal):
        amount = money.total(amount, payload["currency"])
    return money.shown(amount, payload["currency"]).to_json()


def payment(declared: TransactionDataType, payload: dict[str, Any]) -> dict[str, str] | None:
    """Amount, currency and payee for heading and button (`consent.blocks.Payment`); None without a sum."""
    if not declared.amount:
        return None
    payee = next((name for path in declared.payee if (name := _at(payload, path))), "")
    return {**_sum(declared, payload), "payee": legible(payee)}


def _at(payload: dict[str, Any], path: tuple[str, str]) -> str:
    text: str = payload[path[0]].get(path[1], "")
    return text.strip()


def _block(part: str | tuple[str, ...], fields: Mapping[str, Field], payload: dict[str, Any]) -> Block | None:
    if isinstance(part, tuple):
        return _rows("", fields, payload, part)
    match fields[part]:
        case PaymentInstrument() as inner:
            return _instrument(inner, payload[part])
        case Object() as inner:
            return _rows(inner.label, inner.fields, payload[part], inner.fields)
        case ListOf(item=Object() as item) as items:
            return _items(items.label, item.fields, payload[part], payload["currency"])
        case _:
            return {"block": "quote", "text": legible(payload[part], keep_lines=True)}


def _rows(
    heading: Words, fields: Mapping[str, Field], payload: dict[str, Any], names: Iterable[str]
) -> Block | None:
    rows = [
        [str(fields[name].label), _text(fields[name], payload[name])] for name in names if payload.get(name)
    ]
    return {"block": "rows", "heading": str(heading), "rows": rows} if rows else None


def _instrument(instrument: PaymentInstrument, payload: dict[str, Any]) -> Block | None:
    """Kind and identifier in one row, as people know them; apart, as received, if the kind is not known."""
    kind = KINDS_OF_INSTRUMENTS.get(payload["type"])
    if kind is None:
        return _rows(instrument.label, instrument.fields, payload, instrument.fields)
    phrase = {"phrase": str(kind), "words": {"identifier": _identifier(payload["id"])}}
    rest = _rows("", instrument.fields, payload, ["instruction"])
    rows = [[_("Payment method"), phrase], *(rest["rows"] if rest else [])]
    return {"block": "rows", "heading": str(instrument.label), "rows": rows}


def _items(
    heading: Words, fields: Mapping[str, Field], items: tuple[dict[str, Any], ...], currency: str
) -> Block:
    columns = [str(fields[name].label) for name in ("label", "quantity", "unit_cost")]
    return {
        "block": "items",
        "heading": str(heading),
        "columns": [*columns, _line_total_heading(items, currency)],
        "rows": [
            [
                legible(item["label"]),
                {"number": item["quantity"]},
                money.price_shown(item["unit_cost"], currency).to_json(),
                money.shown(money.line_total(item, currency), currency).to_json(),
            ]
            for item in items
        ],
        "total": [_("Total"), money.shown(money.total(items, currency), currency).to_json()],
    }


def _line_total_heading(items: tuple[dict[str, Any], ...], currency: str) -> str:
    """The heading says “rounded” if any line is not exactly quantity times price."""
    rounded = any(money.line_total(item, currency) != money.exact_total(item) for item in items)
    return _("Line total, rounded") if rounded else _("Line total")


def _text(field: Field, value: str) -> str:
    if isinstance(field, AccountNumber) and _UNGROUPED.fullmatch(value):
        return _in_fours(value)
    return legible(value)


def _identifier(value: str) -> str:
    """The identifier of an instrument; an IBAN (ISO 13616) in groups of four, which are easier to compare."""
    return _in_fours(value) if _IBAN.fullmatch(value) else legible(value)


def _in_fours(value: str) -> str:
    return " ".join(value[start : start + 4] for start in range(0, len(value), 4))
