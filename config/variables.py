"""Reads environment variables strictly: raises ImproperlyConfigured with one sentence for a malformed value.

An empty variable counts as not set. No sentence contains a value, because values may be secrets.
"""

import os
import re
import warnings
from collections.abc import Callable
from datetime import tzinfo
from typing import Any, TypeVar

from django.core.exceptions import ImproperlyConfigured

from infra import secret_texts, zones
from infra.files import FileError, secret_in, secrets_in

Content = TypeVar("Content")
_asked: set[str] = set()  # the names that the settings have read
secret_files: dict[str, str] = {}  # the paths of files with secrets, by the variable that names them
_TRUTHS = dict.fromkeys(("true", "1", "yes", "on"), True) | dict.fromkeys(("false", "0", "no", "off"), False)


def text(name: str, default: str = "") -> str:
    """The value unchanged; django-environ would replace `$NAME` by another variable."""
    _asked.add(name)
    return os.environ.get(name, "") or default


def secret(name: str) -> str:
    """The value, or the only line of the file that NAME_FILE names."""
    path = file_instead_of(name)
    return _in_file(name, path, secret_in) if path else text(name)


def secrets(name: str) -> list[str]:
    """The values between commas, or the lines of the file that NAME_FILE names."""
    path = file_instead_of(name)
    return _in_file(name, path, secrets_in) if path else secret_texts.split(name, text(name))


def file_instead_of(name: str) -> str:
    """The path in NAME_FILE, which replaces NAME; raises ImproperlyConfigured if both are set."""
    path = text(f"{name}_FILE")
    if path and text(name):
        raise ImproperlyConfigured(f"{name} and {name}_FILE are both set; keep one of them.")
    if path:
        secret_files[f"{name}_FILE"] = path
    return path


def _in_file(name: str, path: str, read: Callable[[str], Content]) -> Content:
    try:
        return read(path)
    except FileError as error:
        raise ImproperlyConfigured(f"{name}_FILE: {error}") from None


def refuse_weak(name: str, values: list[str]) -> None:
    """Raises ImproperlyConfigured if somebody could guess one of the secrets (`secret_texts.fault`)."""
    if fault := secret_texts.fault(name, values):
        raise ImproperlyConfigured(f"{name} {fault}.")


def refuse_comments(*names: str) -> None:
    """Raises ImproperlyConfigured if a value contains a space or # (`secret_texts.has_comment`)."""
    for name in names:
        if secret_texts.has_comment(text(name)):
            raise ImproperlyConfigured(f"{name} contains a space or #. A comment needs a line of its own.")


def refuse_empty(name: str) -> None:
    """Raises ImproperlyConfigured if the variable is set and empty, for one that another program reads."""
    if os.environ.get(name) == "":
        raise ImproperlyConfigured(f"{name} is empty: give it a value, or remove it.")


def number(name: str, default: int, *, least: int = 1, most: int = 10_000) -> int:
    """A whole number from `least` to `most`."""
    return whole_number(name, text(name, default=str(default)), least=least, most=most)


def whole_number(name: str, value: str, *, least: int, most: int) -> int:
    """The number that is written there; `name` is for the complaint."""
    if not re.fullmatch("0|[1-9][0-9]{0,9}", value) or not least <= int(value) <= most:
        raise ImproperlyConfigured(f"{name} must be a whole number from {least} to {most}.")
    return int(value)


def zone(name: str, default: tzinfo) -> tzinfo:
    """The time zone that is named there as in the IANA database, which a machine may lack: so none is needed
    for the default.
    """
    written = text(name)
    chosen = zones.named(written) if written else default
    if chosen is None:
        raise ImproperlyConfigured(f"{name} must be a time zone as IANA names it, such as Europe/Madrid.")
    return chosen


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


def files_not_read() -> list[str]:
    """The set variables …_FILE that no setting reads, and whose names begin like one that some setting reads.

    Call it after all settings were read.
    """
    ours = {name.split("_")[0] for name in _asked}
    file_variables = (name for name in sorted(os.environ) if name.endswith("_FILE") and os.environ[name])
    return [name for name in file_variables if name.split("_")[0] in ours and name not in _asked]


def url_config(name: str, url: str, read: Callable[[str], dict[str, Any]]) -> dict[str, Any]:
    """What django-environ reads from a URL. Its own errors would show the password in a malformed URL."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return read(url)
    except (ValueError, KeyError, AttributeError, TypeError, Warning, ImproperlyConfigured):
        raise ImproperlyConfigured(f"{name} is not an address that this service understands.") from None
