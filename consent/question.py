"""The requester and the transactions of a question, stored with it as JSON. Pure.

Parsing is strict, so that the page and the receipt show exactly what was stored. Transactions consist of
generic blocks, which this app shows in order. Only `presentation` knows the types of transactions.
"""

import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Self

MAX_TEXT = 32_768
MAX_ENTRIES = 500
MOST_IN_COLUMNS = 32  # characters
MOST_IN_LARGE_FIGURE = 13  # characters
WEB_ADDRESS = ("https://", "http://")


class QuestionFormatError(ValueError):
    """A value does not have the format that pages can show."""


def sought(text: str) -> str:
    """The text as it is searched: without regard to upper and lower case, in one form of each character."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


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

    def columns(self) -> dict[str, Any]:
        """The columns of a question: the requester as shown, and its name and domain for the search."""
        return {
            "requester": self.to_json(),
            "requester_sought": sought(f"{self.name}\n{self.domain}"),
        }

    @classmethod
    def from_json(cls, value: object) -> Self:
        if isinstance(value, Mapping) and "receiver" not in value:
            value = {**value, "receiver": ""}
        return cls(**_object(value, {field.name for field in fields(cls)}))


@dataclass(frozen=True)
class Rows:
    """Labels and values, one pair per row, such as an account, a payee or a device."""

    block: ClassVar = "rows"
    heading: str
    rows: tuple[tuple[str, str], ...]

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        members = _object(value, {"block", "heading", "rows"})
        return cls(_text(members["heading"], "heading"), tuple(_pair(row) for row in _list(members["rows"])))


@dataclass(frozen=True)
class Quote:
    """A text of the requester, shown as a quotation."""

    block: ClassVar = "quote"
    text: str

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        return cls(_text(_object(value, {"block", "text"})["text"], "text"))


@dataclass(frozen=True)
class Items:
    """A bill: a table with one cell for each column in every row, and the total."""

    block: ClassVar = "items"
    heading: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    total: tuple[str, str]

    @property
    def long(self) -> bool:
        """Whether the other columns leave too little width for the first."""
        return any(sum(len(cell) for cell in row[1:]) > MOST_IN_COLUMNS for row in self.rows)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        members = _object(value, {"block", "heading", "columns", "rows", "total"})
        columns = _texts(members["columns"])
        rows = tuple(_texts(row) for row in _list(members["rows"]))
        if not columns or any(len(row) != len(columns) for row in rows):
            raise QuestionFormatError("a row does not fill its columns")
        return cls(_text(members["heading"], "heading"), columns, rows, _pair(members["total"]))


@dataclass(frozen=True)
class Amount:
    """The most important figure of a transaction."""

    block: ClassVar = "amount"
    label: str
    value: str

    @property
    def long(self) -> bool:
        """Whether a narrow screen would wrap the figure, so that its first part read as a smaller amount."""
        return len(self.value) > MOST_IN_LARGE_FIGURE

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        members = _object(value, {"block", "label", "value"})
        return cls(_text(members["label"], "label"), _text(members["value"], "value"))


Block = Rows | Quote | Items | Amount
BLOCKS: dict[str, type[Block]] = {kind.block: kind for kind in (Rows, Quote, Items, Amount)}


@dataclass(frozen=True)
class Transaction:
    """A transaction as the page shows it, verbatim. The holder's answer approves it too.

    consequential: approving it spends or promises money.
    """

    kind: str
    title: str
    blocks: tuple[Block, ...]
    consequential: bool

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "blocks": [{"block": block.block, **asdict(block)} for block in self.blocks]}

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Raises `QuestionFormatError` for unknown, missing, wrongly typed or too large members."""
        members = _object(value, {"kind", "title", "blocks", "consequential"})
        if not isinstance(members["consequential"], bool):
            raise QuestionFormatError("consequential is not a boolean")
        return cls(
            kind=_text(members["kind"], "kind"),
            title=_text(members["title"], "title"),
            blocks=tuple(_block(block) for block in _list(members["blocks"])),
            consequential=members["consequential"],
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


def _pair(value: object) -> tuple[str, str]:
    pair = _texts(value)
    if len(pair) != 2:
        raise QuestionFormatError("not a label and a value")
    return pair[0], pair[1]
