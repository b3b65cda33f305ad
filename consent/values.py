"""The values of a stored question, read strictly. Pure.

Titles, labels and phrases are stored as the English source text and translated when they are shown. Amounts
are stored as a number and a currency and written when they are shown. Texts of the requester stay as they
are. Releases before 0.2 stored every value as text, which is still read.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Self

from django.utils.translation import gettext

from consent.question import MAX_ENTRIES, QuestionFormatError, entries_of, members_of, text_of
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


@dataclass(frozen=True)
class Phrase:
    """Words of this service around words of the requester: `phrase` has a place such as `%(rest)s` for each.

    `str` gives the translated text. The words of the requester are put in as they are.
    """

    phrase: str
    words: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return filled(gettext(self.phrase), dict(self.words))

    def to_json(self) -> dict[str, Any]:
        return {"phrase": self.phrase, "words": dict(self.words)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        members = members_of(value, {"phrase", "words"})
        words = members["words"]
        if not isinstance(words, Mapping) or len(words) > MAX_ENTRIES:
            raise QuestionFormatError("the words of a phrase are not an object")
        texts = tuple((text_of(name, "name"), text_of(word, "word")) for name, word in words.items())
        return cls(text_of(members["phrase"], "phrase"), texts)


@dataclass(frozen=True)
class Number:
    """A whole number, such as a quantity."""

    number: int

    def __str__(self) -> str:
        return number_written(self.number)

    def to_json(self) -> dict[str, int]:
        return {"number": self.number}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        number = members_of(value, {"number"})["number"]
        if type(number) is not int or abs(number) >= 10**15:
            raise QuestionFormatError("not a whole number")
        return cls(number)


Value = str | Phrase | Number | Money  # what `str` turns into the text of a cell
_PLACE = re.compile(r"%\((\w+)\)s")


def filled(text: str, words: Mapping[str, str]) -> str:
    """The text with each place such as `%(name)s` replaced; a place without a word stays as it is."""
    return _PLACE.sub(lambda place: words.get(place[1], place[0]), text)


def pair_of(value: object) -> tuple[str, Value]:
    """A label and a value."""
    pair = entries_of(value)
    if len(pair) != 2:
        raise QuestionFormatError("not a label and a value")
    return text_of(pair[0], "label"), value_of(pair[1])


def value_of(value: object) -> Value:
    """A text, phrase, number or amount of money."""
    if not isinstance(value, Mapping):
        return text_of(value, "value")
    if "phrase" in value:
        return Phrase.from_json(value)
    return Number.from_json(value) if "number" in value else money_of(value)


def money_of(value: Mapping[str, Any]) -> Money:
    """An amount of money."""
    try:
        return Money.from_json(value)
    except ValueError as error:
        raise QuestionFormatError(str(error)) from error


def stored(value: Value) -> Any:
    """The value as JSON."""
    return value if isinstance(value, str) else value.to_json()
