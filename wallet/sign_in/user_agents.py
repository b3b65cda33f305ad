"""Which browser on which system sent a request, from its `User-Agent` (RFC 9110 §10.1.5). Pure.

The header says whatever a client likes, so this only helps people to recognise their own browsers. Nothing is
decided by it. The names come from the tables below; no other part of the header is kept.
"""

from dataclasses import dataclass

from django.utils.translation import gettext as _

LONGEST = 512  # characters that are read

# Marks in the header, and the names for people. The first mark that is found counts: browsers claim to be
# others that came before them.
_BROWSERS = (
    (("Edg/", "EdgA/", "EdgiOS/", "Edge/"), "Edge"),
    (("OPR/", "OPiOS/", "OPT/", "Opera"), "Opera"),
    (("SamsungBrowser/",), "Samsung Internet"),
    (("Vivaldi/",), "Vivaldi"),
    (("YaBrowser/",), "Yandex Browser"),
    (("DuckDuckGo/", "Ddg/"), "DuckDuckGo"),
    (("Firefox/", "FxiOS/"), "Firefox"),
    (("Chromium/",), "Chromium"),
    (("CriOS/", "Chrome/"), "Chrome"),
    (("Safari/",), "Safari"),
)
_SYSTEMS = (
    (("iPhone",), "iPhone"),
    (("iPad",), "iPad"),
    (("Android",), "Android"),
    (("CrOS",), "ChromeOS"),
    (("Windows",), "Windows"),
    (("Macintosh", "Mac OS X"), "macOS"),
    (("Linux", "X11"), "Linux"),
)


@dataclass(frozen=True)
class UserAgent:
    """The names of a browser and of its system; empty where they are unknown."""

    browser: str = ""
    system: str = ""

    def __str__(self) -> str:
        """In the language of the page, such as “Firefox on Linux”."""
        names = {"browser": self.browser, "system": self.system}
        if self.browser and self.system:
            return _("%(browser)s on %(system)s") % names
        if self.system:
            return _("A browser on %(system)s") % names
        return self.browser or _("A browser we don’t recognise")


def parse(header: str) -> UserAgent:
    """The names in a `User-Agent` header; reads its first LONGEST characters, and never fails."""
    text = header[:LONGEST]
    return UserAgent(_first(_BROWSERS, text), _first(_SYSTEMS, text))


def _first(table: tuple[tuple[tuple[str, ...], str], ...], text: str) -> str:
    return next((name for marks, name in table if any(mark in text for mark in marks)), "")
