"""Reads environment variables strictly: raises ImproperlyConfigured with one sentence for a malformed value.

An empty variable counts as not set. No sentence contains a value, because values may be secrets.
"""

import os
import re
import warnings
from collections.abc import Callable
from typing import Any

from django.core.exceptions import ImproperlyConfigured

_TRUTHS = dict.fromkeys(("true", "1", "yes", "on"), True) | dict.fromkeys(("false", "0", "no", "off"), False)


def text(name: str, default: str = "") -> str:
    """The value unchanged; django-environ would replace `$NAME` by another variable."""
    return os.environ.get(name, "") or default


def number(name: str, default: int, *, least: int = 1, most: int = 10_000) -> int:
    """A whole number from `least` to `most`."""
    value = text(name, default=str(default))
    if not re.fullmatch("0|[1-9][0-9]{0,9}", value) or not least <= int(value) <= most:
        raise ImproperlyConfigured(f"{name} must be a whole number from {least} to {most}.")
    return int(value)


def switch(name: str, *, default: bool) -> bool:
    """`true` or `false`. A misspelt value is refused, because it would count as `false`."""
    value = truth(text(name, default=str(default)))
    if value is None:
        raise ImproperlyConfigured(f"{name} must be 'true' or 'false'.")
    return value


def truth(value: str) -> bool | None:
    """The meaning of a word; None if it means neither true nor false."""
    return _TRUTHS.get(value.lower())


def listed(name: str) -> list[str]:
    """The values, which are separated by commas."""
    return [part for part in text(name).split(",") if part]


def file_instead_of(name: str) -> str:
    """The path in NAME_FILE, which replaces NAME; raises ImproperlyConfigured if both are set."""
    path = text(f"{name}_FILE")
    if path and text(name):
        raise ImproperlyConfigured(f"{name} and {name}_FILE are both set; keep one of them.")
    return path


def with_prefix(prefix: str) -> dict[str, str]:
    """What the variables say whose names begin so, by the rest of the name in small letters.

    A variable that ends in _FILE names a file with the value.
    """
    found = {}
    for name in sorted(os.environ):
        if name.startswith(prefix) and text(name):
            plain = name.removesuffix("_FILE")
            path = file_instead_of(plain) if plain != name else ""
            found[plain.removeprefix(prefix).lower()] = _content(name, path) if path else text(name)
    return found


def _content(name: str, path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().strip()
    except (OSError, UnicodeDecodeError):
        raise ImproperlyConfigured(f"{name} is not the path of a text file that can be read.") from None


def url_config(name: str, url: str, read: Callable[[str], dict[str, Any]]) -> dict[str, Any]:
    """What django-environ reads from a URL. Its own errors would show the password in a malformed URL."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return read(url)
    except (ValueError, KeyError, AttributeError, TypeError, Warning, ImproperlyConfigured):
        raise ImproperlyConfigured(f"{name} is not an address that this service understands.") from None
