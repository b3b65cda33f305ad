"""Environment variables, read strictly: a malformed value ends the start with one sentence.

An empty variable counts as one that is not set. No sentence repeats a value, because values may be secrets.
"""

import os
import re
import warnings
from collections.abc import Callable
from typing import Any

from django.core.exceptions import ImproperlyConfigured

_TRUTHS = dict.fromkeys(("true", "1", "yes", "on"), True) | dict.fromkeys(("false", "0", "no", "off"), False)


def text(name: str, default: str = "") -> str:
    """The value as it is written; django-environ takes `$NAME` for the name of another variable."""
    return os.environ.get(name, "") or default


def number(name: str, default: int, *, least: int = 1, most: int = 10_000) -> int:
    """A whole number within bounds."""
    value = text(name, default=str(default))
    if not re.fullmatch("0|[1-9][0-9]{0,9}", value) or not least <= int(value) <= most:
        raise ImproperlyConfigured(f"{name} must be a whole number from {least} to {most}.")
    return int(value)


def switch(name: str, *, default: bool) -> bool:
    """`true` or `false`; a misspelt value is refused, because it would count as `false`."""
    value = truth(text(name, default=str(default)))
    if value is None:
        raise ImproperlyConfigured(f"{name} must be 'true' or 'false'.")
    return value


def truth(value: str) -> bool | None:
    """What a word says; None if it is neither a yes nor a no."""
    return _TRUTHS.get(value.lower())


def listed(name: str) -> list[str]:
    """The values between the commas."""
    return [part for part in text(name).split(",") if part]


def file_instead_of(name: str) -> str:
    """The path in NAME_FILE, which takes the place of NAME."""
    path = text(f"{name}_FILE")
    if path and text(name):
        raise ImproperlyConfigured(f"{name} and {name}_FILE are both set; keep one of them.")
    return path


def url_config(name: str, url: str, read: Callable[[str], dict[str, Any]]) -> dict[str, Any]:
    """What django-environ reads from a URL; what it says of a bad one would show the password in it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return read(url)
    except (ValueError, KeyError, AttributeError, TypeError, Warning, ImproperlyConfigured):
        raise ImproperlyConfigured(f"{name} is not an address that this service understands.") from None
