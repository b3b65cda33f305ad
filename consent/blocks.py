"""The transactions of a question, stored with it as JSON. Pure.

They consist of generic blocks, which pages show in order. Only `presentation` knows the types.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from consent.question import QuestionFormatError, entries_of, members_of, text_of, texts_of
from consent.values import Money, Value, money_of, pair_of, stored, value_of

MOST_IN_COLUMNS = 32  # characters


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
        rows = [[label, stored(value)] for label, value in self.rows]
        members = {"block": self.block, "heading": self.heading, "rows": rows}
        return members | ({"introduction": self.introduction} if self.introduction else {})

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        members = members_of({"introduction": "", **value}, {"block", "heading", "rows", "introduction"})
        rows = tuple(pair_of(row) for row in entries_of(members["rows"]))
        introduction = text_of(members["introduction"], "introduction")
        return cls(text_of(members["heading"], "heading"), rows, introduction)


@dataclass(frozen=True)
class Quote:
    """A text of the requester, shown as a quotation."""

    block: ClassVar = "quote"
    text: str

    def to_json(self) -> dict[str, Any]:
        return {"block": self.block, "text": self.text}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        return cls(text_of(members_of(value, {"block", "text"})["text"], "text"))


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
            "rows": [[stored(cell) for cell in row] for row in self.rows],
            "total": [self.total[0], stored(self.total[1])],
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        members = members_of(value, {"block", "heading", "columns", "rows", "total"})
        columns = texts_of(members["columns"])
        rows = tuple(tuple(value_of(cell) for cell in entries_of(row)) for row in entries_of(members["rows"]))
        if not columns or any(len(row) != len(columns) for row in rows):
            raise QuestionFormatError("a row does not fill its columns")
        return cls(text_of(members["heading"], "heading"), columns, rows, pair_of(members["total"]))


@dataclass(frozen=True)
class Amount:
    """The most important figure of a transaction."""

    block: ClassVar = "amount"
    label: str
    value: Value

    def to_json(self) -> dict[str, Any]:
        return {"block": self.block, "label": self.label, "value": stored(self.value)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        members = members_of(value, {"block", "label", "value"})
        return cls(text_of(members["label"], "label"), value_of(members["value"]))


Block = Rows | Quote | Items | Amount
BLOCKS: dict[str, type[Block]] = {kind.block: kind for kind in (Rows, Quote, Items, Amount)}


@dataclass(frozen=True)
class Payment:
    """The facts of a payment that heading and button name; its blocks have them too.

    payee: empty if the requester names none.
    """

    money: Money
    payee: str

    def to_json(self) -> dict[str, Any]:
        return {**self.money.to_json(), "payee": self.payee}

    @classmethod
    def from_json(cls, value: object) -> Self:
        members = members_of(value, {"amount", "currency", "payee"})
        payee = text_of(members.pop("payee"), "payee")
        return cls(money_of(members), payee)


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
        members = members_of(value, {"kind", "title", "blocks", "consequential", "payment"})
        if not isinstance(members["consequential"], bool):
            raise QuestionFormatError("consequential is not a boolean")
        return cls(
            kind=text_of(members["kind"], "kind"),
            title=text_of(members["title"], "title"),
            blocks=tuple(block_of(block) for block in entries_of(members["blocks"])),
            consequential=members["consequential"],
            payment=None if members["payment"] is None else Payment.from_json(members["payment"]),
        )


def block_of(value: object) -> Block:
    """The block; raises `QuestionFormatError`."""
    name = value.get("block") if isinstance(value, Mapping) else None
    kind = BLOCKS.get(name) if isinstance(name, str) else None
    if kind is None or not isinstance(value, Mapping):
        raise QuestionFormatError("unknown block")
    return kind.from_json(value)
