"""The results of drills as a table, on the terminal and in docs/faults.md."""

import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from tools.drills.drill import Result

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "faults.md"
HEADINGS = (
    "fault",
    "flows",
    "clean",
    "after trouble",
    "told",
    "doubled",
    "lost",
    "stuck",
    "5xx",
    "figures",
)
_BEGIN, _END = "<!-- written by `make drill%s WRITE=1` -->", "<!-- end of the table -->"


def cells(result: Result) -> tuple[str, ...]:
    """One line of the table."""
    count = result.count
    lost = count.unrecorded + count.unnoticed
    figures = [*result.said, *(f"**missed: {text}**" for text in result.missed)]
    if count.refused:
        figures.append(f"**{count.refused} answers were refused by the relying party**")
    if count.bare:
        figures.append(f"{count.bare} of the 5xx without a page of ours")
    numbers = (
        count.flows,
        count.clean,
        count.after_trouble,
        count.told,
        count.doubled,
        lost,
        count.stuck,
        count.server_errors,
    )
    return (result.name, *map(str, numbers), "; ".join(figures))


def markdown(results: Sequence[Result]) -> str:
    """The table in Markdown."""
    heading, *rows = (f"| {' | '.join(row)} |" for row in (HEADINGS, *map(cells, results)))
    return "\n".join([heading, f"|---|{'--:|' * len(HEADINGS[1:-1])}---|", *rows])


def written(text: str, results: Sequence[Result], day: date, names: str = "") -> str:
    """The document with a new table (of `make drill` with `names`). Raises ValueError if it has no place."""
    begin = _BEGIN % names
    table = f"{begin}\nMeasured on {day.isoformat()}.\n\n{markdown(results)}\n{_END}"
    changed, places = re.subn(
        f"{re.escape(begin)}.*?{re.escape(_END)}", lambda _: table, text, flags=re.DOTALL
    )
    if places != 1:
        raise ValueError("the place of the table is missing")
    return changed


def write(results: Sequence[Result], names: str = "") -> None:
    """Puts the table into docs/faults.md."""
    DOCUMENT.write_text(written(DOCUMENT.read_text(), results, date.today(), names))
