"""What a holder is shown when asked: who asks, and what for. Pure values, kept as JSON with each question.

Reading is strict, so that a page and a receipt show exactly what was written down or nothing at all.
Transactions are generic blocks: whoever asks knows their types, this room only shows them, in order.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Self

MAX_TEXT = 32_768
MAX_ENTRIES = 500
MOST_IN_COLUMNS = 32  # characters
MOST_IN_LARGE_FIGURE = 13  # characters
WEB_ADDRESS = ("https://", "http://")


class QuestionFormatError(ValueError):
    """A stored or handed-in value is not of the shape that pages can show."""


@dataclass(frozen=True)
class Requester:
    """Who asks, as the holder is told; every field but the name and the domain may be empty.

    Raises `QuestionFormatError` for a link that is not a web address and for a logo not served from here.
    """

    name: str
    domain: str
    logo_url: str = ""
    purpose: str = ""
    privacy_policy_url: str = ""
    terms_url: str = ""
    receiver: str = ""  # the host that gets the answer directly, if the browser does not carry it

    def __post_init__(self) -> None:
        for field in fields(self):
            _text(getattr(self, field.name), field.name)
        for link in (self.privacy_policy_url, self.terms_url):
            if link and not link.startswith(WEB_ADDRESS):
                raise QuestionFormatError("a link is not a web address")
        if self.logo_url and (not self.logo_url.startswith("/") or self.logo_url.startswith("//")):
            raise QuestionFormatError("a logo must be served from here")

    def to_json(self) -> dict[str, str]:
        return {name: text for name, text in asdict(self).items() if text or name != "receiver"}

    @classmethod
    def from_json(cls, value: object) -> Self:
        if isinstance(value, Mapping) and "receiver" not in value:
            value = {**value, "receiver": ""}
        return cls(**_object(value, {field.name for field in fields(cls)}))


@dataclass(frozen=True)
class Rows:
    """Labels and values below each other: an account, a payee, a device."""

    block: ClassVar = "rows"
    heading: str
    rows: tuple[tuple[str, str], ...]

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        members = _object(value, {"block", "heading", "rows"})
        return cls(_text(members["heading"], "heading"), tuple(_pair(row) for row in _list(members["rows"])))


@dataclass(frozen=True)
class Quote:
    """Words of whoever asks, shown as theirs."""

    block: ClassVar = "quote"
    text: str

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        return cls(_text(_object(value, {"block", "text"})["text"], "text"))


@dataclass(frozen=True)
class Items:
    """A bill: a table whose rows fill its columns, and the total."""

    block: ClassVar = "items"
    heading: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    total: tuple[str, str]

    @property
    def long(self) -> bool:
        """Whether the columns after the first would leave no place for the first."""
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
    """The one figure that matters most."""

    block: ClassVar = "amount"
    label: str
    value: str

    @property
    def long(self) -> bool:
        """Whether a narrow screen would break it in two, so that it read as a smaller figure."""
        return len(self.value) > MOST_IN_LARGE_FIGURE

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        members = _object(value, {"block", "label", "value"})
        return cls(_text(members["label"], "label"), _text(members["value"], "value"))


Block = Rows | Quote | Items | Amount
BLOCKS: dict[str, type[Block]] = {kind.block: kind for kind in (Rows, Quote, Items, Amount)}


@dataclass(frozen=True)
class Transaction:
    """What the holder's answer is bound to beside their claims, as it is shown, verbatim.

    `consequential`: saying yes spends or promises money.
    """

    kind: str
    title: str
    blocks: tuple[Block, ...]
    consequential: bool

    def to_json(self) -> dict[str, Any]:
        blocks = [{"block": block.block, **_listed(asdict(block))} for block in self.blocks]
        return {
            "kind": self.kind,
            "title": self.title,
            "blocks": blocks,
            "consequential": self.consequential,
        }

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Raises `QuestionFormatError` for what is unknown, missing, of another type or beyond the limits."""
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


def _listed(value: Any) -> Any:
    """The same with lists for tuples, as JSON gives them back."""
    if isinstance(value, dict):
        return {name: _listed(member) for name, member in value.items()}
    return [_listed(entry) for entry in value] if isinstance(value, tuple) else value
