"""The hash chain of the audit record: how a line is written, and how each kind of tampering is found. Pure.

The text of a line is canonical JSON: names sorted, no spaces, UTF-8, the time in microseconds. It contains
the SHA-256 of the text before it, so the exported texts can be verified with nothing but `sha256sum`.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, NamedTuple

GENESIS = "0" * 64  # what the first line names as the hash before it
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Head(NamedTuple):
    """The end of the record at some time: the number of its last line and the hash of that."""

    seq: int
    hash: str


class Line(NamedTuple):
    """A stored line: its text and hash, and the columns that repeat values of the text for searching."""

    seq: int
    text: str
    hash: str
    at: datetime
    operator_id: int | None
    action: str
    about: str


class Fault(NamedTuple):
    """A place where the record is not as it was written."""

    seq: int
    problem: str


def line(
    before: Head | None, *, at: datetime, operator_id: int | None, action: str, about: str, reason: str
) -> Line:
    """The line that follows `before`, or the first line."""
    seq, previous = (before.seq + 1, before.hash) if before else (1, GENESIS)
    made = Line(seq, "", "", at, operator_id, action, about)
    text = canonical(_columns(made) | {"previous": previous, "reason": reason})
    return made._replace(text=text, hash=digest(text))


def canonical(values: Mapping[str, Any]) -> str:
    """The values as the one JSON text that is hashed."""
    return json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(text: str) -> str:
    """The SHA-256 of the text, in hexadecimal digits."""
    return sha256(text.encode()).hexdigest()


def microseconds(at: datetime) -> int:
    """The time as a whole number, which every program writes the same way."""
    return (at - _EPOCH) // timedelta(microseconds=1)


def faults(
    lines: Iterable[Line], heads: Iterable[Head] = (), *, after: Head | None = None
) -> Iterator[Fault]:
    """Every fault of the lines, which are all lines, or all after that head, in the order of their numbers.

    heads: signed heads, kept elsewhere, that the lines have to contain.
    """
    signed = {head.seq: head.hash for head in heads}
    last = after or Head(0, GENESIS)
    for line in lines:
        yield from _faults_of(line, last)
        if signed.pop(line.seq, line.hash) != line.hash:
            yield Fault(line.seq, "it differs from the signed head: the record was written anew")
        last = Head(line.seq, line.hash)
    for seq in sorted(seq for seq in signed if seq > last.seq):
        yield Fault(
            seq, f"a signed head names this line, and the record ends at {last.seq}: its end was cut off"
        )


def _faults_of(line: Line, last: Head) -> Iterator[Fault]:
    if line.seq > last.seq + 1:
        yield Fault(last.seq + 1, f"removed: the line after {last.seq} is {line.seq}")
    if digest(line.text) != line.hash:
        yield Fault(line.seq, "changed: the text does not have this hash")
    values = _values(line.text)
    if values.get("previous") != last.hash and line.seq == last.seq + 1:
        yield Fault(line.seq, "it does not follow the line before: that was changed, or this was inserted")
    if values != _columns(line) | {"previous": values.get("previous"), "reason": values.get("reason")}:
        yield Fault(line.seq, "changed: the columns for searching differ from the text")


def _values(text: str) -> dict[str, Any]:
    try:
        values = json.loads(text)
    except ValueError:
        return {}
    return values if isinstance(values, dict) else {}


def _columns(line: Line) -> dict[str, Any]:
    return {
        "about": line.about,
        "action": line.action,
        "at": microseconds(line.at),
        "operator": line.operator_id,
        "seq": line.seq,
    }
