"""The transactions of a question, stored with it as JSON. Pure.

They consist of generic blocks, which pages show in order. Only `presentation` knows the types.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from consent.question import QuestionFormatError, text_of
from consent.values import Money, Readers, Stored, Value, pair_of, tuple_of, value_of

MOST_IN_COLUMNS = 32  # characters


@dataclass(frozen=True)
class Rows(Stored):
    """Labels and values, one pair per row, such as an account, a payee or a device.

    introduction: a sentence above them with a place for the name of the requester, or nothing.
    """

    READ: ClassVar[Readers] = {"heading": text_of, "rows": tuple_of(pair_of), "introduction": text_of}
    block: ClassVar = "rows"
    heading: str
    rows: tuple[tuple[str, Value], ...]
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
    rows: tuple[tuple[Value, ...], ...]
    total: tuple[str, Value]

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
    value: Value


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
