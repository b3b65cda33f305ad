"""The kinds of fields that transaction data consists of: what each accepts.

`read` takes a value from strict JSON and returns it validated, or raises FieldError naming the field.
"""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from infra.reasons import visible
from infra.words import Words
from presentation.transaction_data.money import MINOR_UNITS, PRICE_PLACES, rounded

MOST_MONEY = 10**12


class FieldError(ValueError):
    """A field breaks its rule; the message names the field, as in `payload.items[0].quantity`."""


@dataclass(frozen=True)
class Field:
    """One field: `label` is shown to the holder."""

    label: Words = ""
    required: bool = field(default=True, kw_only=True)

    def read(self, value: Any, where: str) -> Any:
        """The validated value; raises FieldError. where: the path of the field, for the message."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Text(Field):
    """A string."""

    longest: int = 140

    def read(self, value: Any, where: str) -> str:
        if not isinstance(value, str):
            raise FieldError(f"{where} must be a string")
        if len(value) > self.longest:
            raise FieldError(f"{where} must not be longer than {self.longest} characters")
        if self.required and not visible(value):
            raise FieldError(f"{where} must not be blank")
        return value


@dataclass(frozen=True, kw_only=True)
class AccountNumber(Text):
    """The number of an account; shown in groups of four, which are easier to compare."""

    longest: int = 64


@dataclass(frozen=True, kw_only=True)
class IPAddress(Text):
    """An IPv4 or IPv6 address in its usual notation, without a zone."""

    longest: int = 45

    def read(self, value: Any, where: str) -> str:
        text = super().read(value, where)
        try:
            ipaddress.ip_address(text if "%" not in text else "")
        except ValueError:
            raise FieldError(f"{where} must be an IPv4 or IPv6 address") from None
        return text


@dataclass(frozen=True, kw_only=True)
class Currency(Field):
    """An ISO 4217 code."""

    def read(self, value: Any, where: str) -> str:
        if not isinstance(value, str) or value not in MINOR_UNITS:
            raise FieldError(f"{where} must be an ISO 4217 currency code, such as EUR")
        return value


@dataclass(frozen=True, kw_only=True)
class Integer(Field):
    """A whole number, written as one: `2`, not `2.0`."""

    least: int
    most: int

    def read(self, value: Any, where: str) -> int:
        if type(value) is not int:  # isinstance would accept True and False
            raise FieldError(f"{where} must be an integer")
        if not self.least <= value <= self.most:
            raise FieldError(f"{where} must be from {self.least} to {self.most}")
        return value


@dataclass(frozen=True, kw_only=True)
class Amount(Field):
    """An amount of money in the payload's currency, read as a Decimal."""

    zero: bool = False

    def read(self, value: Any, where: str) -> Decimal:
        amount = _number(value, where)
        if amount < 0 or (amount == 0 and not self.zero):
            raise FieldError(f"{where} must be {'zero or more' if self.zero else 'more than zero'}")
        if amount >= MOST_MONEY:
            raise FieldError(f"{where} must be less than {MOST_MONEY}")
        return amount.copy_abs()  # turns -0 into 0; abs() would also round to 28 digits


@dataclass(frozen=True, kw_only=True)
class UnitPrice(Field):
    """The price of one unit, negative for a discount. Only the rounded total has to fit the minor units."""

    def read(self, value: Any, where: str) -> Decimal:
        price = _number(value, where)
        if not -MOST_MONEY < price < MOST_MONEY:
            raise FieldError(f"{where} must be more than -{MOST_MONEY} and less than {MOST_MONEY}")
        exact = rounded(price, PRICE_PLACES)
        if exact is None:
            raise FieldError(f"{where} must not have more than {PRICE_PLACES} decimal places")
        return exact or exact.copy_abs()  # turns -0 into 0


@dataclass(frozen=True, kw_only=True)
class Object(Field):
    """A JSON object with these fields and no others."""

    fields: Mapping[str, Field]

    def read(self, value: Any, where: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise FieldError(f"{where or 'the value'} must be a JSON object")
        for name in value:
            if name not in self.fields:
                raise FieldError(f"{_inside(where, name[:40])} is unknown")
        for name, declared in self.fields.items():
            if declared.required and name not in value:
                raise FieldError(f"{_inside(where, name)} is missing")
        return {
            name: declared.read(value[name], _inside(where, name))
            for name, declared in self.fields.items()
            if name in value
        }


@dataclass(frozen=True, kw_only=True)
class PaymentInstrument(Object):
    """An object with `type` and `id` of what is paid with; shown as people know it."""


@dataclass(frozen=True, kw_only=True)
class ListOf(Field):
    """A JSON array with at least one element, all of the same kind."""

    item: Field
    most: int

    def read(self, value: Any, where: str) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise FieldError(f"{where} must be an array")
        if not 1 <= len(value) <= self.most:
            raise FieldError(f"{where} must have from 1 to {self.most} elements")
        return tuple(self.item.read(item, f"{where}[{index}]") for index, item in enumerate(value))


def _number(value: Any, where: str) -> Decimal:
    if type(value) is not int and not isinstance(value, Decimal):
        raise FieldError(f"{where} must be a number")
    return Decimal(value)


def _inside(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name
