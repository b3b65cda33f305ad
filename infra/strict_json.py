"""JSON that can be read in one way only (RFC 8259 §4, §6): no name twice, no NaN, not too deep,
and only text that can be written in UTF-8 (§8.2). Pure.
"""

import json
import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

_HALF = re.compile(r"[\ud800-\udfff]|\\u[dD][89a-fA-F]")  # or both halves of one


class StrictJsonError(ValueError):
    """This is no such JSON; the text says why, for developers."""


def loads(text: str, *, deepest: int = 100) -> Any:
    """The value; fractions become Decimals. Raises StrictJsonError."""
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_float=Decimal, parse_constant=_no_constant)
    except StrictJsonError:
        raise
    except (ValueError, RecursionError, InvalidOperation):
        raise StrictJsonError("must be valid JSON") from None
    _check_depth([value], deepest)
    _check_text(text, value)
    return value


def _check_depth(level: Sequence[Any], deepest: int) -> None:
    """Level by level, so that depth costs no stack."""
    for _depth in range(deepest + 1):
        level = [
            member
            for value in level
            if isinstance(value, (dict, list))
            for member in (value.values() if isinstance(value, dict) else value)
        ]
        if not level:
            return
    raise StrictJsonError(f"must not be nested deeper than {deepest} levels")


def _check_text(text: str, value: Any) -> None:
    """Half a character (a lone surrogate) can be written neither to a database nor to anybody else."""
    if not _HALF.search(text):
        return
    try:
        json.dumps(value, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError:
        raise StrictJsonError("must not contain half a character (a lone surrogate)") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names: dict[str, Any] = {}
    for name, value in pairs:
        if name in names:
            raise StrictJsonError(f"must not name {name[:40]} twice")
        names[name] = value
    return names


def _no_constant(name: str) -> Any:
    raise StrictJsonError(f"must not contain {name}")
