"""The results of drills as a table, on the terminal and in docs/faults.md."""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from pathlib import Path

from tools.drills.every import DRILLS
from tools.drills.reckoning import Reckoning
from tools.drills.results import Result
from tools.drills.running import Outcome

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "faults.md"
NUMBERS = ("flows", "clean", "after trouble", "told", "doubled", "lost", "stuck", "5xx")
HEADINGS = ("drill", "fault", *NUMBERS, "figures", "measured")
_BEGIN, _END = "<!-- written by `make drill WRITE=1` -->", "<!-- end of the table -->"
_TABLE = re.compile(f"{re.escape(_BEGIN)}\n(.*?){re.escape(_END)}", re.DOTALL)
_ROW = re.compile(r"^\| `([\w-]+)` \|.*", re.MULTILINE)


def rows(outcome: Outcome, day: date) -> list[str]:
    """The lines of the table for one drill: one for each result."""
    name = f"`{outcome.drill.name}`"
    return [_line((name, *cells(result), day.isoformat())) for result in outcome.results]


def cells(result: Result) -> tuple[str, ...]:
    """Fault, numbers and figures of a result. A drill that did not come to its end has no numbers."""
    numbers = _numbers(result.count) if result.count else ["–"] * len(NUMBERS)
    return (result.name, *numbers, "; ".join(_figures(result)))


def _numbers(count: Reckoning) -> list[str]:
    numbers = (
        count.flows,
        count.clean,
        count.after_trouble,
        count.told,
        count.doubled,
        count.unrecorded + count.unnoticed,
        count.stuck,
        count.server_errors,
    )
    return [str(number) for number in numbers]


def _figures(result: Result) -> Iterator[str]:
    yield from result.said
    if result.count is None:
        yield from (f"**{text}**" for text in result.missed)
        return
    yield from (f"**missed: {text}**" for text in result.missed)
    if result.count.refused:
        yield f"**{result.count.refused} answers were refused by the relying party**"
    if result.count.bare:
        yield f"{result.count.bare} of the 5xx without a page of ours"


def _line(values: Iterable[str]) -> str:
    return f"| {' | '.join(value.replace('|', chr(92) + '|') for value in values)} |"


def markdown(outcomes: Iterable[Outcome], day: date | None = None) -> str:
    """The table in Markdown, of results of this day."""
    return _table(row for outcome in outcomes for row in rows(outcome, day or date.today()))


def _table(lines: Iterable[str]) -> str:
    return "\n".join([_line(HEADINGS), f"|---|---|{'--:|' * len(NUMBERS)}---|---|", *lines])


def written(text: str, outcomes: Sequence[Outcome], day: date) -> str:
    """The document with the results of these drills in its table; those of the other drills stay.

    Raises ValueError if the document has no place for the table.
    """
    found = _TABLE.search(text)
    if not found:
        raise ValueError("the place of the table is missing")
    by_name: dict[str, list[str]] = {}
    for row in _ROW.finditer(found[1]):
        by_name.setdefault(row[1], []).append(row[0])
    by_name |= {outcome.drill.name: rows(outcome, day) for outcome in outcomes}
    lines = (line for name in DRILLS for line in by_name.get(name, []))
    return f"{text[: found.start()]}{_BEGIN}\n{_table(lines)}\n{_END}{text[found.end() :]}"


def write(outcomes: Sequence[Outcome]) -> None:
    """Puts the results into docs/faults.md."""
    DOCUMENT.write_text(written(DOCUMENT.read_text(), outcomes, date.today()))
