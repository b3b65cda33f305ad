"""Unambiguous JSON (RFC 8259 §4, §6, §8.2): no duplicate names, no NaN, no lone surrogates. Pure.

`loads` is for input by people and applications: amounts of money stay exact, and the depth is limited.
`read` is for tokens, whose size is limited elsewhere: it takes a fraction of the time.
"""

import json
import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn

import orjson

_HALF = re.compile(r"[\ud800-\udfff]|\\u[dD][89a-fA-F]")  # a lone surrogate, or a pair of them


class StrictJsonError(ValueError):
    """The text is not such JSON; the message gives the reason, for developers."""


class RepeatedNameError(StrictJsonError):
    """An object has a duplicate name."""


class NoNumberError(StrictJsonError):
    """The text contains NaN or Infinity, spelt as in `written`."""

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
        if orjson.dumps(value) == octets:  # so there is no duplicate name and no NaN
            return value
    except (ValueError, TypeError):
        pass  # Python's decoder has fewer limits, and finds the reason
    try:
        value = _floating(octets.decode())
        _written(value).encode()  # refuses lone surrogates, which are JSON but no text, and 1e999
    except StrictJsonError:
        raise
    except (ValueError, RecursionError):
        raise StrictJsonError("must be valid JSON") from None
    return value


def _check_depth(level: Sequence[Any], deepest: int) -> None:
    """Goes level by level, because recursion could exhaust the stack."""
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
    """Refuses lone surrogates (half characters), which neither UTF-8 nor a database can store."""
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


# json.loads and json.dumps with arguments would make a decoder or encoder at every call.
_exact = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_number, parse_float=Decimal).decode
_floating = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_number).decode
_written = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=str).encode
