"""The results of benchmarks, and the table in which they are printed."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One measured line.

    `value` and `unit` say how much was measured on this machine; `ratio` is what carries over to others.
    With a `target`, `ratio` has to reach it (or stay under it, with `at_most`) to earn its mark.
    """

    bench: str  # "a", "b", …: rows of one benchmark are adjacent
    label: str
    value: float
    unit: str  # "per second", "flows per CPU second", "MB", …
    ratio: float | None = None
    target: float | None = None
    at_most: bool = False
    note: str = ""  # what the ratio compares with: "× PyPI sd-jwt"

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None where there is none."""
        if self.target is None or self.ratio is None:
            return None
        return self.ratio <= self.target if self.at_most else self.ratio >= self.target


HEADINGS = ("", "measured", "result", "unit", "ratio", "target", "", "")


def render(rows: Iterable[Row]) -> str:
    """The rows as text, columns aligned, a rule between benchmarks."""
    cells: list[tuple[str, ...]] = [HEADINGS]
    benches: list[str] = [""]
    for row in rows:
        cells.append(_cells(row))
        benches.append(row.bench)
    widths = [max(len(line[column]) for line in cells) for column in range(len(HEADINGS))]
    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    lines: list[str] = []
    for index, line in enumerate(cells):
        if index and benches[index] != benches[index - 1]:
            lines.append(rule)
        justified = (
            _justify(cell, width, column)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        lines.append("  ".join(justified).rstrip())
    return "\n".join(lines)


def _cells(row: Row) -> tuple[str, ...]:
    sign = "≤" if row.at_most else "≥"
    return (
        f"({row.bench})",
        row.label,
        f"{row.value:,.0f}" if abs(row.value) >= 100 else f"{row.value:.2f}",
        row.unit,
        "" if row.ratio is None else f"{row.ratio:.2f} ×",
        "" if row.target is None else f"{sign} {row.target:.2f} ×",
        {True: "met", False: "MISSED", None: ""}[row.met],
        row.note,
    )


def _justify(cell: str, width: int, column: int) -> str:
    return cell.rjust(width) if column in (2, 4, 5) else cell.ljust(width)
