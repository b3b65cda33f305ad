"""The requester and the transactions of a question, stored with it as JSON. Pure.

Parsing is strict, so that the page and the receipt show exactly what was stored. Transactions consist of
generic blocks, which this app shows in order. Only `presentation` knows the types of transactions.

Titles, labels and phrases are stored as the English source text and translated when they are shown. Amounts
are stored as a number and a currency and written when they are shown. Texts of the requester stay as they
are. Releases before 0.2 stored every value as text, which is still read.
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Self

from django.utils.translation import gettext

from consent.money import Money, number_written

MAX_TEXT = 32_768
MAX_ENTRIES = 500
MOST_IN_COLUMNS = 32  # characters
MOST_IN_LARGE_FIGURE = 13  # characters
WEB_ADDRESS = ("https://", "http://")


class QuestionFormatError(ValueError):
    """A value does not have the format that pages can show."""


@dataclass(frozen=True)
class Requester:
    """The requester as the page shows it; every field except the name and the domain may be empty.

    Raises `QuestionFormatError` for a link that is no web address, and for a logo on another host.
    """

    name: str
    domain: str
    logo_url: str = ""
    purpose: str = ""
    privacy_policy_url: str = ""
    terms_url: str = ""
    receiver: str = ""  # the host to which the answer is posted, if the browser does not carry it

    def __post_init__(self) -> None:
        for field in fields(self):
            _text(getattr(self, field.name), field.name)
        for link in (self.privacy_policy_url, self.terms_url):
            if link and not link.startswith(WEB_ADDRESS):
                raise QuestionFormatError("a link is not a web address")
        if self.logo_url and (not self.logo_url.startswith("/") or self.logo_url.startswith("//")):
            raise QuestionFormatError("a logo is not on this host")

    def to_json(self) -> dict[str, str]:
        return {name: text for name, text in asdict(self).items() if text or name != "receiver"}

    @classmethod
    def from_json(cls, value: object) -> Self:
        if isinstance(value, Mapping) and "receiver" not in value:
            value = {**value, "receiver": ""}
        return cls(**_object(value, {field.name for field in fields(cls)}))


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
        members = _object(value, {"phrase", "words"})
        words = members["words"]
        if not isinstance(words, Mapping) or len(words) > MAX_ENTRIES:
            raise QuestionFormatError("the words of a phrase are not an object")
        texts = tuple((_text(name, "name"), _text(word, "word")) for name, word in words.items())
        return cls(_text(members["phrase"], "phrase"), texts)


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
        number = _object(value, {"number"})["number"]
        if type(number) is not int or abs(number) >= 10**15:
            raise QuestionFormatError("not a whole number")
        return cls(number)


Value = str | Phrase | Number | Money  # what `str` turns into the text of a cell
_PLACE = re.compile(r"%\((\w+)\)s")


def filled(text: str, words: Mapping[str, str]) -> str:
    """The text with each place such as `%(name)s` replaced; a place without a word stays as it is."""
    return _PLACE.sub(lambda place: words.get(place[1], place[0]), text)


@dataclass(frozen=True)
class Rows:
    """Labels and values, one pair per row, such as an account, a payee or a device.

    introduction: a sentence above them with a place for the name of the requester, or nothing.
    """

    block: ClassVar = "rows"
    heading: str
    rows: tuple[tuple[str, Value], ...]
    introduction: str = ""

    def to_json(self) -> dict[str, Any]:
        rows = [[label, _stored(value)] for label, value in self.rows]
        members = {"block": self.block, "heading": self.heading, "rows": rows}
        return members | ({"introduction": self.introduction} if self.introduction else {})

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        members = _object({"introduction": "", **value}, {"block", "heading", "rows", "introduction"})
        rows = tuple(_pair(row) for row in _list(members["rows"]))
        introduction = _text(members["introduction"], "introduction")
        return cls(_text(members["heading"], "heading"), rows, introduction)


@dataclass(frozen=True)
class Quote:
    """A text of the requester, shown as a quotation."""

    block: ClassVar = "quote"
    text: str

    def to_json(self) -> dict[str, Any]:
        return {"block": self.block, "text": self.text}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        return cls(_text(_object(value, {"block", "text"})["text"], "text"))


@dataclass(frozen=True)
class Items:
    """A bill: a table with one cell for each column in every row, and the total."""

    block: ClassVar = "items"
    heading: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    total: tuple[str, Value]

    @property
    def long(self) -> bool:
        """Whether the other columns leave too little width for the first."""
        return any(sum(len(str(cell)) for cell in row[1:]) > MOST_IN_COLUMNS for row in self.rows)

    def to_json(self) -> dict[str, Any]:
        return {
            "block": self.block,
            "heading": self.heading,
            "columns": list(self.columns),
            "rows": [[_stored(cell) for cell in row] for row in self.rows],
            "total": [self.total[0], _stored(self.total[1])],
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        members = _object(value, {"block", "heading", "columns", "rows", "total"})
        columns = _texts(members["columns"])
        rows = tuple(tuple(_value(cell) for cell in _list(row)) for row in _list(members["rows"]))
        if not columns or any(len(row) != len(columns) for row in rows):
            raise QuestionFormatError("a row does not fill its columns")
        return cls(_text(members["heading"], "heading"), columns, rows, _pair(members["total"]))


@dataclass(frozen=True)
class Amount:
    """The most important figure of a transaction."""

    block: ClassVar = "amount"
    label: str
    value: Value

    @property
    def long(self) -> bool:
        """Whether a narrow screen would wrap the figure, so that its first part read as a smaller amount."""
        return len(str(self.value)) > MOST_IN_LARGE_FIGURE

    def to_json(self) -> dict[str, Any]:
        return {"block": self.block, "label": self.label, "value": _stored(self.value)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        members = _object(value, {"block", "label", "value"})
        return cls(_text(members["label"], "label"), _value(members["value"]))


Block = Rows | Quote | Items | Amount
BLOCKS: dict[str, type[Block]] = {kind.block: kind for kind in (Rows, Quote, Items, Amount)}


@dataclass(frozen=True)
class Payment:
    """The facts of a payment that heading and button name; its blocks have them too.

    payee: empty if the requester names none.
    """

    money: Money
    payee: str

    @property
    def long(self) -> bool:
        """Whether the amount in large figures would not fit on a narrow screen."""
        return len(str(self.money)) > MOST_IN_LARGE_FIGURE

    def to_json(self) -> dict[str, Any]:
        return {**self.money.to_json(), "payee": self.payee}

    @classmethod
    def from_json(cls, value: object) -> Self:
        members = _object(value, {"amount", "currency", "payee"})
        payee = _text(members.pop("payee"), "payee")
        return cls(_money(members), payee)


@dataclass(frozen=True)
class Transaction:
    """A transaction as the page shows it, verbatim. The holder's answer approves it too.

    consequential: approving it spends or promises money. payment: None if it does not, and in rows of
    releases before 0.2.
    """

    kind: str
    title: str
    blocks: tuple[Block, ...]
    consequential: bool
    payment: Payment | None = None

    def to_json(self) -> dict[str, Any]:
        members = {
            "kind": self.kind,
            "title": self.title,
            "blocks": [block.to_json() for block in self.blocks],
            "consequential": self.consequential,
        }
        return members | ({"payment": self.payment.to_json()} if self.payment else {})

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Raises `QuestionFormatError` for unknown, missing, wrongly typed or too large members."""
        if isinstance(value, Mapping):
            value = {"payment": None, **value}
        members = _object(value, {"kind", "title", "blocks", "consequential", "payment"})
        if not isinstance(members["consequential"], bool):
            raise QuestionFormatError("consequential is not a boolean")
        return cls(
            kind=_text(members["kind"], "kind"),
            title=_text(members["title"], "title"),
            blocks=tuple(_block(block) for block in _list(members["blocks"])),
            consequential=members["consequential"],
            payment=None if members["payment"] is None else Payment.from_json(members["payment"]),
        )


def _block(value: object) -> Block:
    name = value.get("block") if isinstance(value, Mapping) else None
    kind = BLOCKS.get(name) if isinstance(name, str) else None
    if kind is None or not isinstance(value, Mapping):
        raise QuestionFormatError("unknown block")
    return kind.from_json(value)


def _object(value: object, names: set[str]) -> dict[str, Any]:
    if not isinstance(value, Mapping) or set(value) != names:
        raise QuestionFormatError(f"not an object of exactly {', '.join(sorted(names))}")
    return dict(value)


def _list(value: object) -> list[Any]:
    if not isinstance(value, (list, tuple)) or len(value) > MAX_ENTRIES:
        raise QuestionFormatError(f"not a list of at most {MAX_ENTRIES} entries")
    return list(value)


def _text(value: object, name: str) -> str:
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        raise QuestionFormatError(f"{name} is not a text of at most {MAX_TEXT} characters")
    return value


def _texts(value: object) -> tuple[str, ...]:
    return tuple(_text(entry, "entry") for entry in _list(value))


def _pair(value: object) -> tuple[str, Value]:
    pair = _list(value)
    if len(pair) != 2:
        raise QuestionFormatError("not a label and a value")
    return _text(pair[0], "label"), _value(pair[1])


def _value(value: object) -> Value:
    if not isinstance(value, Mapping):
        return _text(value, "value")
    if "phrase" in value:
        return Phrase.from_json(value)
    return Number.from_json(value) if "number" in value else _money(value)


def _money(value: Mapping[str, Any]) -> Money:
    try:
        return Money.from_json(value)
    except ValueError as error:
        raise QuestionFormatError(str(error)) from error


def _stored(value: Value) -> Any:
    return value if isinstance(value, str) else value.to_json()
