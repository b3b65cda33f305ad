"""The settings of one identity provider, read strictly."""

import re
from collections.abc import Collection, Mapping
from pathlib import Path

from wallet.credential.evidence import Assurance, EvidenceError


class OptionError(ValueError):
    """A provider's settings are wrong. The text is one sentence for operators; it repeats no value."""


class Options:
    """Reads the settings of one provider. `finish` complains about those that nobody has read.

    prefix: of names in complaints, as in "IDENTITY_PROVIDERS_FILE: bank.". own_framework: the name of the
    operator's own trust framework. loopback: whether addresses on this machine may be http. test_mode:
    whether a vendor's test mode, which verifies nobody, is accepted.
    """

    def __init__(
        self,
        prefix: str,
        values: Mapping[str, str],
        *,
        own_framework: str,
        loopback: bool = False,
        test_mode: bool = False,
    ) -> None:
        self._prefix, self._values, self._unread = prefix, values, set(values)
        self.own_framework, self.loopback, self.test_mode = own_framework, loopback, test_mode

    def text(self, name: str, default: str | None = None) -> str:
        """A text; required if there is no default."""
        self._unread.discard(name)
        value = self._values.get(name, "").strip()
        if not value and default is None:
            raise self.error(name, "must be set")
        return value or default or ""

    def choice(self, name: str, choices: tuple[str, ...], default: str | None = None) -> str:
        value = self.text(name, default)
        if value not in choices:
            raise self.error(name, f"must be one of {', '.join(choices)}")
        return value

    def switch(self, name: str, *, default: bool) -> bool:
        return self.choice(name, ("true", "false"), "true" if default else "false") == "true"

    def number(self, name: str, default: int, *, least: int = 1, most: int = 10_000) -> int:
        value = self.text(name, str(default))
        if not re.fullmatch("0|[1-9][0-9]{0,9}", value) or not least <= int(value) <= most:
            raise self.error(name, f"must be a whole number from {least} to {most}")
        return int(value)

    def words(self, name: str, default: str | None = None) -> tuple[str, ...]:
        """Values between spaces or commas."""
        return tuple(word for word in re.split(r"[,\s]+", self.text(name, default)) if word)

    def some_of(self, name: str, choices: Collection[str], default: str = "") -> tuple[str, ...]:
        """Some of the choices; none only if that is the default."""
        words = self.words(name, default)
        if not set(words) <= set(choices) or (default and not words):
            raise self.error(name, f"must be some of {', '.join(choices)}")
        return words

    def address(self, name: str, default: str | None = None) -> str:
        """An https address, without a slash at the end; http only on this machine, where that is allowed."""
        value = self.text(name, default).rstrip("/")
        local = self.loopback and re.match(r"http://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?(/|$)", value)
        if value and not local and not re.fullmatch(r"https://[^\s/?#@]+(/[^\s?#]*)?", value):
            raise self.error(name, "must be an https address")
        return value

    def assurance(self, name: str, default: str | None = None) -> Assurance:
        """A trust framework and a level, as in "eidas substantial"."""
        try:
            return Assurance.parse(self.text(name, default))
        except EvidenceError:
            raise self.error(name, "must be a trust framework and a level, with a space between") from None

    def file(self, name: str) -> bytes:
        """What the file at this path holds."""
        try:
            return Path(self.text(name)).read_bytes()
        except (OSError, ValueError):
            raise self.error(name, "must be the path of a file that can be read") from None

    def error(self, name: str, must: str) -> OptionError:
        return OptionError(f"{self._prefix}{name} {must}.")

    def finish(self) -> None:
        """Raises `OptionError` if there is a setting that this provider does not know."""
        if self._unread:
            names = ", ".join(sorted(self._unread))
            raise OptionError(f"{self._prefix}{names}: this provider has no such option.")
