"""The results of benchmarks, and the table in which they are printed."""

from collections.abc import Iterable
from dataclasses import dataclass

from tools.benchmarks.bursts import Ratio


@dataclass(frozen=True)
class Row:
    """One measured line.

    `value` and `unit` say how much was measured on this machine; `ratio` is what carries over to others.
    With a `target`, `ratio` has to reach it (or, with `at_most`, not to exceed it) to earn its mark; with a
    `limit`, `value` must not exceed that.
    """

    bench: str  # "a", "b", …: rows of one benchmark are adjacent
    label: str
    value: float
    unit: str  # "per second", "flows per CPU second", "MB", …
    ratio: float | Ratio | None = None  # of a `Ratio`, the median decides
    target: float | None = None
    at_most: bool = False
    note: str = ""  # what the ratio compares with: "× PyPI sd-jwt"
    limit: float | None = None

    @property
    def middle(self) -> float | None:
        """The ratio, or its median."""
        return self.ratio.median if isinstance(self.ratio, Ratio) else self.ratio

    @property
    def met(self) -> bool | None:
        """Whether target and limit are met; None where there is neither."""
        if self.limit is not None and self.value > self.limit:
            return False
        if self.target is None or self.middle is None:
            return None if self.limit is None else True
        return self.middle <= self.target if self.at_most else self.middle >= self.target


HEADINGS = ("", "measured", "result", "unit", "ratio", "[quartiles]", "required", "", "")
TO_THE_RIGHT = (2, 4, 6)


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
    ratio = row.ratio
    return (
        f"({row.bench})",
        row.label,
        _number(row.value),
        row.unit,
        "" if row.middle is None else f"{row.middle:.2f} ×",
        f"[{ratio.low:.2f} {ratio.high:.2f}]" if isinstance(ratio, Ratio) else "",
        _required(row),
        {True: "met", False: "MISSED", None: ""}[row.met],
        row.note,
    )


def _required(row: Row) -> str:
    parts = [] if row.target is None else [f"{'≤' if row.at_most else '≥'} {row.target:.2f} ×"]
    return ", ".join([*parts, *([] if row.limit is None else [f"≤ {_number(row.limit)}"])])


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2f}"


def _justify(cell: str, width: int, column: int) -> str:
    return cell.rjust(width) if column in TO_THE_RIGHT else cell.ljust(width)
