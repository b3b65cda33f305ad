"""The requester of a question, stored with it as JSON, and how such JSON is read. Pure.

Parsing is strict, so that the page and the receipt show exactly what was stored. The transactions are
in `blocks`.
"""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from infra import localised

MAX_TEXT = 32_768
MAX_ENTRIES = 500
WEB_ADDRESS = ("https://", "http://")
# Members of a stored requester that are left out where they are empty.
_LEFT_OUT = ("receiver", "sector", "recognised_by", "number_once")
# Why holders can report a requester, as they read it.
REPORTED_FOR = {
    "too_much": _("It asks for more than it needs"),
    "impostor": _("It is not who it says it is"),
    "misuse": _("It uses my details for something else, or passes them on"),
    "not_deleted": _("It did not delete my details although I asked"),
    "other": _("Something else"),
}


class QuestionFormatError(ValueError):
    """A value does not have the format that pages can show."""


def sought(text: str) -> str:
    """The text as it is searched: without regard to upper and lower case, in one form of each character."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


@dataclass(frozen=True)
class Requester:
    """The requester as the page shows it; every field except the name and the domain may be empty.

    Raises `QuestionFormatError` for a link that is no web address, and for a logo on another host.
    """

    name: str
    domain: str
    logo_url: str = ""
    purpose: str = ""
    privacy_policy_url: str = ""
    terms_url: str = ""
    receiver: str = ""  # the host to which the answer is posted, if the browser does not carry it
    # If it asks for the number to recognise the holder by: the sector of that number, and the names of all
    # that get it, one a line.
    sector: str = ""
    recognised_by: str = ""
    number_once: str = ""  # a text if it gets a number that is another one each time

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if type(value) is not str or len(value) > MAX_TEXT:  # as `text_of`, which costs more calls
                raise QuestionFormatError(f"{name} is not a text of at most {MAX_TEXT} characters")
        for link in (self.privacy_policy_url, self.terms_url):
            if link and not link.startswith(WEB_ADDRESS):
                raise QuestionFormatError("a link is not a web address")
        if self.logo_url and (not self.logo_url.startswith("/") or self.logo_url.startswith("//")):
            raise QuestionFormatError("a logo is not on this host")

    @property
    def recognition(self) -> str:
        """Who can recognise the holder by the number, for people; empty if it asks for none."""
        if self.number_once:
            return gettext(
                "With the answer comes a number for this time only. Nobody can recognise you by it."
            )
        names = self.recognised_by.splitlines()
        said = ngettext(
            "A number that only %(names)s gets. %(names)s can recognise you next time; nobody else can.",
            "A number that only %(names)s get. Each of them can recognise you next time; nobody else can.",
            len(names),
        )
        return said % {"names": localised.listed(names)} if names else ""

    def to_json(self) -> dict[str, str]:
        return {name: text for name, text in vars(self).items() if text or name not in _LEFT_OUT}

    @classmethod
    def from_json(cls, value: object) -> Self:
        if isinstance(value, Mapping):
            value = {**dict.fromkeys(_LEFT_OUT, ""), **value}
        return cls(**members_of(value, {field.name for field in fields(cls)}))


def members_of(value: object, names: set[str]) -> dict[str, Any]:
    """The members of an object with exactly these names."""
    if not isinstance(value, Mapping) or set(value) != names:
        raise QuestionFormatError(f"not an object of exactly {', '.join(sorted(names))}")
    return dict(value)


def entries_of(value: object) -> list[Any]:
    """The value as a list; raises `QuestionFormatError` if it is none, or too long."""
    if not isinstance(value, (list, tuple)) or len(value) > MAX_ENTRIES:
        raise QuestionFormatError(f"not a list of at most {MAX_ENTRIES} entries")
    return list(value)


def text_of(value: object) -> str:
    """The value, if it is a text; raises `QuestionFormatError`."""
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        raise QuestionFormatError(f"not a text of at most {MAX_TEXT} characters")
    return value
