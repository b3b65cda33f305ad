"""Amounts of money: as stored with a question, and as people read them. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Self

from infra import localised

_AMOUNT = re.compile(r"-?[0-9]{1,30}(\.[0-9]{1,12})?")
_CURRENCY = re.compile(r"[A-Z]{3}")


@dataclass(frozen=True)
class Money:
    """An amount with the decimal places that are shown, such as `950.00`, and its ISO 4217 currency.

    Raises ValueError for anything else. `str` gives the text for people.
    """

    amount: str
    currency: str

    def __post_init__(self) -> None:
        if not isinstance(self.amount, str) or not _AMOUNT.fullmatch(self.amount):
            raise ValueError("not a decimal number")
        if not isinstance(self.currency, str) or not _CURRENCY.fullmatch(self.currency):
            raise ValueError("not a currency")

    @classmethod
    def of(cls, amount: Decimal, currency: str) -> Self:
        return cls(f"{amount:f}", currency)

    def __str__(self) -> str:
        return written(Decimal(self.amount), self.currency)

    def to_json(self) -> dict[str, str]:
        return {"amount": self.amount, "currency": self.currency}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Raises ValueError."""
        if set(value) != {"amount", "currency"}:
            raise ValueError("not an amount and a currency")
        return cls(**value)


def written(amount: Decimal, currency: str) -> str:
    """An amount in the language of the page, such as `1,234.50 EUR`; see `localised.money`."""
    return localised.money(amount, currency)


def number_written(number: int) -> str:
    """A whole number in the language of the page, such as `1,200`."""
    return localised.separated(f"{number:,}")


def total(payments: tuple[Money, ...]) -> Money | None:
    """The sum, or None if the payments are in several currencies, or there are none."""
    if len({payment.currency for payment in payments}) != 1:
        return None
    return Money.of(sum((Decimal(payment.amount) for payment in payments), Decimal(0)), payments[0].currency)
