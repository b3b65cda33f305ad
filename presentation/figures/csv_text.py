"""Figures as CSV (RFC 4180) that a spreadsheet opens without running anything. Pure."""

import csv
from collections.abc import Iterable, Sequence
from io import StringIO

# With these a spreadsheet begins a formula, also after white space (OWASP, "CSV Injection").
_FORMULA = tuple("=+-@|\uff1d\uff0b\uff0d\uff20")  # the last four are full-width forms
_SPACES = " \t\r\n\v\f\0"


def csv_text(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """The rows as text. An apostrophe stands before a text that would be a formula."""
    file = StringIO()
    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerow(heads)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return file.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, int):
        return value
    text = str(value).replace("\0", "")
    runs = text.startswith(("\t", "\r", "\n")) or text.lstrip(_SPACES).startswith(_FORMULA)
    return f"'{text}" if runs else text
