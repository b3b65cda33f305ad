"""The options of identity providers and of single sign-on, in one TOML file each.

An option that ends in `_file` names a file with the value. Everything else raises ImproperlyConfigured; no
complaint repeats a value or a line of a file, because either may be a secret.
"""

import re
import tomllib
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from config.variables import text
from infra.files import why_not

named: dict[str, str] = {}  # the paths that were read here, by the variable or option that names them
_NAME = re.compile(r"[a-z][a-z0-9_]{0,29}")


def identity_providers(default: str) -> dict[str, dict[str, str]]:
    """Each provider with its options, in the order in which people are offered them; else `default` alone."""
    variable = "IDENTITY_PROVIDERS_FILE"
    if not text(variable):
        return {default: {}}
    tables = _content(variable)
    if not tables or not all(_NAME.fullmatch(name) and isinstance(t, dict) for name, t in tables.items()):
        raise ImproperlyConfigured(
            f"{variable} must have one table for each provider, such as [bank], and nothing else; "
            "a name is of small letters, digits and _."
        )
    return {name: _options(f"{variable}: {name}.", table) for name, table in tables.items()}


def single_sign_on() -> dict[str, str]:
    """The options of the operators' OpenID provider; empty without a file."""
    variable = "SINGLE_SIGN_ON_FILE"
    return _options(f"{variable}: ", _content(variable)) if text(variable) else {}


def _content(variable: str) -> dict[str, Any]:
    named[variable] = text(variable)
    try:
        with Path(text(variable)).open("rb") as file:
            return tomllib.load(file)
    except OSError as error:
        why = why_not(error, text(variable))
        raise ImproperlyConfigured(f"{variable} cannot be read: {why}.") from None
    except ValueError as error:  # its text may contain what is in the file
        [where] = re.findall(r"line \d+", str(error))[-1:] or ["the end, or a character that is not UTF-8"]
        raise ImproperlyConfigured(f"{variable} is no TOML; see {where}.") from None


def _options(where: str, table: dict[str, Any]) -> dict[str, str]:
    options = {}
    for name, value in table.items():
        if not isinstance(value, str | int):
            raise ImproperlyConfigured(f"{where}{name} must be a text, a whole number, true or false.")
        plain = name.removesuffix("_file")
        if plain != name and plain in table:
            raise ImproperlyConfigured(f"{where}{plain} and {name} are both set; keep one of them.")
        written = str(value).lower() if isinstance(value, bool) else str(value)
        options[plain] = written if plain == name else _in_file(f"{where}{name}", written)
    return options


def _in_file(name: str, path: str) -> str:
    named[name] = path
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except PermissionError as error:
        raise ImproperlyConfigured(f"{name} cannot be read: {why_not(error, path)}.") from None
    except (OSError, ValueError):
        raise ImproperlyConfigured(f"{name} is not the path of a text file that can be read.") from None
