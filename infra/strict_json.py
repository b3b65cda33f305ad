"""JSON that can be read in one way only (RFC 8259 §4, §6): no name twice, no NaN, and only text that can be
written in UTF-8 (§8.2). Pure.

`loads` is for what somebody wrote: amounts of money stay exact, and the depth is limited.
`read` is for tokens: it takes a fraction of the time, and their size is limited elsewhere.
"""

import json
import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn

import orjson

_HALF = re.compile(r"[\ud800-\udfff]|\\u[dD][89a-fA-F]")  # or both halves of one


class StrictJsonError(ValueError):
    """This is no such JSON; the text says why, for developers."""


class RepeatedNameError(StrictJsonError):
    """An object has a name twice."""


class NoNumberError(StrictJsonError):
    """NaN or Infinity, as it was `written`."""

    def __init__(self, written: str) -> None:
        super().__init__(f"must not contain {written}")
        self.written = written


def loads(text: str, *, deepest: int = 100) -> Any:
    """The value; fractions become Decimals. Raises StrictJsonError."""
    try:
        value = _exact(text)
    except StrictJsonError:
        raise
    except (ValueError, RecursionError, InvalidOperation):
        raise StrictJsonError("must be valid JSON") from None
    _check_depth([value], deepest)
    _check_text(text, value)
    return value


def read(octets: bytes) -> Any:
    """The value of JSON in UTF-8; fractions are floats. Raises StrictJsonError."""
    try:
        value = orjson.loads(octets)
        if orjson.dumps(value) == octets:  # written again it is the same: no name is there twice, no NaN
            return value
    except (ValueError, TypeError):
        pass  # the other one has fewer limits, and finds out what is wrong
    try:
        value = _floating(octets.decode())
        _written(value).encode()  # half a surrogate pair is a JSON string and yet no text, 1e999 no number
    except StrictJsonError:
        raise
    except (ValueError, RecursionError):
        raise StrictJsonError("must be valid JSON") from None
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
        _written(value).encode()
    except UnicodeEncodeError:
        raise StrictJsonError("must not contain half a character (a lone surrogate)") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names: dict[str, Any] = {}
    for name, value in pairs:
        if name in names:
            raise RepeatedNameError(f"must not name {name[:40]} twice")
        names[name] = value
    return names


def _no_number(written: str) -> NoReturn:
    raise NoNumberError(written)


# Made once: with arguments, json.loads and json.dumps would make one for every call.
_exact = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_number, parse_float=Decimal).decode
_floating = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_number).decode
_written = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=str).encode
