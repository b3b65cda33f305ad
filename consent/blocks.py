"""The transactions of a question, stored with it as JSON. Pure.

They consist of generic blocks, which pages show in order. Only `presentation` knows the types. Titles, labels
and phrases are stored as the English source text and translated when they are shown. Amounts are stored as a
number and a currency and written when they are shown. Texts of the requester stay as they are. Releases
before 0.2 stored every value as text, which is still read.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from decimal import Decimal
from typing import Any, ClassVar, Self

from django.utils.translation import gettext

from consent.question import MAX_ENTRIES, QuestionFormatError, entries_of, members_of, text_of
from infra import localised

MOST_IN_COLUMNS = 32  # characters
_AMOUNT = re.compile(r"-?[0-9]{1,30}(\.[0-9]{1,12})?")
_CURRENCY = re.compile(r"[A-Z]{3}")
Readers = Mapping[str, Callable[[Any], Any]]


@dataclass(frozen=True)
class Stored:
    """The base of what is stored as a JSON object. A field is left out of it while it has its default value.

    READ: by field, the function that reads its JSON strictly. block: the name of a kind of block.
    """

    READ: ClassVar[Readers] = {}
    block: ClassVar = ""

    def to_json(self) -> dict[str, Any]:
        written: dict[str, Any] = {"block": self.block} if self.block else {}
        for field in fields(self):
            if (value := getattr(self, field.name)) != field.default:
                written[field.name] = stored(value)
        return written

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Raises `QuestionFormatError` for unknown, missing, wrongly typed or too large members."""
        usual = {field.name: field.default for field in fields(cls) if field.default is not MISSING}
        members = members_of({**usual, **value} if isinstance(value, Mapping) else value, set(cls.READ))
        return cls(**{name: read(members[name]) for name, read in cls.READ.items()})


@dataclass(frozen=True)
class Money(Stored):
    """An amount with the decimal places that are shown, such as `950.00`, and its ISO 4217 currency.

    Raises `QuestionFormatError` for anything else. `str` gives the text for people.
    """

    READ: ClassVar[Readers] = {"amount": text_of, "currency": text_of}
    amount: str
    currency: str

    def __post_init__(self) -> None:
        if not _AMOUNT.fullmatch(self.amount):
            raise QuestionFormatError("not a decimal number")
        if not _CURRENCY.fullmatch(self.currency):
            raise QuestionFormatError("not a currency")

    @classmethod
    def of(cls, amount: Decimal, currency: str) -> Self:
        return cls(f"{amount:f}", currency)

    def __str__(self) -> str:
        return localised.money(Decimal(self.amount), self.currency)


def total(payments: Sequence[Money]) -> Money | None:
    """The sum, or None if the payments are in several currencies, or there are none."""
    if len({payment.currency for payment in payments}) != 1:
        return None
    return Money.of(sum((Decimal(payment.amount) for payment in payments), Decimal(0)), payments[0].currency)


def _words_of(value: object) -> dict[str, str]:
    if not isinstance(value, Mapping) or len(value) > MAX_ENTRIES:
        raise QuestionFormatError("the words of a phrase are not an object")
    return {text_of(name): text_of(word) for name, word in value.items()}


@dataclass(frozen=True)
class Phrase(Stored):
    """Words of this service around words of the requester: `phrase` has a place such as `%(rest)s` for each.

    `str` gives the translated text. The words of the requester are put in as they are.
    """

    READ: ClassVar[Readers] = {"phrase": text_of, "words": _words_of}
    phrase: str
    words: Mapping[str, str]

    def __str__(self) -> str:
        return filled(gettext(self.phrase), self.words)


def _number_of(value: object) -> int:
    if type(value) is not int or abs(value) >= 10**15:
        raise QuestionFormatError("not a whole number")
    return value


@dataclass(frozen=True)
class Number(Stored):
    """A whole number, such as a quantity. `str` writes it in the language of the page, such as `1,200`."""

    READ: ClassVar[Readers] = {"number": _number_of}
    number: int

    def __str__(self) -> str:
        return localised.separated(f"{self.number:,}")


CellValue = str | Phrase | Number | Money  # what `str` turns into the text of a cell
_PLACE = re.compile(r"%\((\w+)\)s")


def filled(text: str, words: Mapping[str, str]) -> str:
    """The text with each place such as `%(name)s` replaced; a place without a word stays as it is."""
    return _PLACE.sub(lambda place: words.get(place[1], place[0]), text)


def tuple_of(read: Callable[[Any], Any]) -> Callable[[Any], tuple[Any, ...]]:
    """Reads a list whose entries `read` reads."""
    return lambda value: tuple(map(read, entries_of(value)))


def pair_of(value: object) -> tuple[str, CellValue]:
    """A label and a value."""
    pair = entries_of(value)
    if len(pair) != 2:
        raise QuestionFormatError("not a label and a value")
    return text_of(pair[0]), value_of(pair[1])


def value_of(value: object) -> CellValue:
    """A text, phrase, number or amount of money."""
    if not isinstance(value, Mapping):
        return text_of(value)
    if "phrase" in value:
        return Phrase.from_json(value)
    return Number.from_json(value) if "number" in value else Money.from_json(value)


def stored(value: Any) -> Any:
    """The value as JSON."""
    if isinstance(value, tuple):
        return [stored(item) for item in value]
    return value.to_json() if isinstance(value, Stored) else value


@dataclass(frozen=True)
class Rows(Stored):
    """Labels and values, one pair per row, such as an account, a payee or a device.

    introduction: a sentence above them with a place for the name of the requester, or nothing.
    """

    READ: ClassVar[Readers] = {"heading": text_of, "rows": tuple_of(pair_of), "introduction": text_of}
    block: ClassVar = "rows"
    heading: str
    rows: tuple[tuple[str, CellValue], ...]
    introduction: str = ""


@dataclass(frozen=True)
class Quote(Stored):
    """A text of the requester, shown as a quotation."""

    READ: ClassVar[Readers] = {"text": text_of}
    block: ClassVar = "quote"
    text: str


@dataclass(frozen=True)
class Items(Stored):
    """A bill: a table with one cell for each column in every row, and the total."""

    READ: ClassVar[Readers] = {
        "heading": text_of,
        "columns": tuple_of(text_of),
        "rows": tuple_of(tuple_of(value_of)),
        "total": pair_of,
    }
    block: ClassVar = "items"
    heading: str
    columns: tuple[str, ...]
    rows: tuple[tuple[CellValue, ...], ...]
    total: tuple[str, CellValue]

    def __post_init__(self) -> None:
        if not self.columns or any(len(row) != len(self.columns) for row in self.rows):
            raise QuestionFormatError("a row does not fill its columns")

    @property
    def long(self) -> bool:
        """Whether the other columns leave too little width for the first."""
        return any(sum(len(str(cell)) for cell in row[1:]) > MOST_IN_COLUMNS for row in self.rows)


@dataclass(frozen=True)
class Amount(Stored):
    """The most important figure of a transaction."""

    READ: ClassVar[Readers] = {"label": text_of, "value": value_of}
    block: ClassVar = "amount"
    label: str
    value: CellValue


Block = Rows | Quote | Items | Amount
BLOCKS: dict[str, type[Block]] = {kind.block: kind for kind in (Rows, Quote, Items, Amount)}


def _block_of(value: object) -> Block:
    members = dict(value) if isinstance(value, Mapping) else {}
    name = members.pop("block", None)
    kind = BLOCKS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise QuestionFormatError("unknown block")
    return kind.from_json(members)


def _truth_of(value: object) -> bool:
    if not isinstance(value, bool):
        raise QuestionFormatError("not a boolean")
    return value


@dataclass(frozen=True)
class Payment(Money):
    """The facts of a payment that heading and button name; its blocks have them too.

    payee: empty if the requester names none.
    """

    READ: ClassVar[Readers] = {**Money.READ, "payee": text_of}
    payee: str


@dataclass(frozen=True)
class Transaction(Stored):
    """A transaction as the page shows it, verbatim. The holder's answer approves it too.

    consequential: approving it spends or promises money. payment: None if it does not, and in rows of
    releases before 0.2.
    """

    READ: ClassVar[Readers] = {
        "kind": text_of,
        "title": text_of,
        "blocks": tuple_of(_block_of),
        "consequential": _truth_of,
        "payment": lambda value: None if value is None else Payment.from_json(value),
    }
    kind: str
    title: str
    blocks: tuple[Block, ...]
    consequential: bool
    payment: Payment | None = None
