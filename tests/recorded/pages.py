"""Pages as the record has them: the main part line by line, and the frame around it once for each file."""

import hashlib
import re
from html import unescape

LONGEST = 12_000  # characters of a main part that are kept line by line; longer ones are kept as hashes
LONGEST_TEXT = 6_000  # characters of the text of a page of the admin
_TITLE = re.compile(r"<title>(.*?)</title>", re.DOTALL)
_MAIN = re.compile(r"<main\b.*?</main>", re.DOTALL)
_SECTION = re.compile(r"(?=<h2\b)")
_HEADING = re.compile(r"<h[12]\b[^>]*>(.*?)</h[12]>", re.DOTALL)
_TAG = re.compile(r"<!--.*?-->|<(?:script|style)\b.*?</(?:script|style)>|<[^>]*>", re.DOTALL)


class Frames:
    """What stands around the main part of pages, each different one numbered and kept once."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}

    def number(self, frame: str) -> int:
        return self.known.setdefault(frame, len(self.known) + 1)

    def lines(self) -> list[str]:
        """The end of the file."""
        said = []
        for frame, number in self.known.items():
            said += ["", f"## Frame {number} of pages", "", *_indented(frame)]
        return said


def lines(html: str, frames: Frames, *, of_admin: bool) -> list[str]:
    """A masked page."""
    html = _clean(html)
    title = _TITLE.search(html)
    said = [f"title: {_text(title[1]) if title else ''}"]
    if of_admin:
        return [*said, *_of_admin(html)]
    main = _MAIN.search(html)
    if main is None:
        return [*said, *_indented(html)]
    frame = _TITLE.sub("<title>…</title>", html[: main.start()] + "…\n" + html[main.end() :])
    said.append(f"frame: {frames.number(frame)}")
    if len(main[0]) <= LONGEST:
        return said + _indented(main[0])
    for section in _SECTION.split(main[0]):
        heading = _HEADING.search(section)
        name = _text(heading[1]) if heading else "(before the first heading)"
        said.append(f"section {name!r}: {len(section)} characters, SHA-256 {_hash(section)}")
    return said


def _of_admin(html: str) -> list[str]:
    """Long pages of another project's making: a hash of all, the text of the content, and the fields."""
    content = html.partition('id="content"')[2].partition('id="footer"')[0] or html
    text = _text("<p " + content, apart="\n")
    said = [f"page: SHA-256 {_hash(html)}"]
    if len(text) > LONGEST_TEXT:
        said.append(f"text: {len(text)} characters, SHA-256 {_hash(text)}")
        text = text[:1000] + "\n…"
    return said + ["text:", *_indented(text)]


def _clean(html: str) -> str:
    stripped = (line.strip() for line in html.splitlines())
    return "\n".join(line for line in stripped if line)


def _text(html: str, apart: str = " ") -> str:
    words = (line.strip() for line in unescape(_TAG.sub("\n", html)).splitlines())
    return apart.join(line for line in words if line)


def _indented(text: str) -> list[str]:
    return [f"    {line}" for line in text.splitlines()]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
