"""Formats pages: the outline of the main part, and that of the frame around it once for each file."""

import hashlib
import re
from html import unescape

from tests.recorded.formatting import folded
from tests.recorded.outline import outline

LONGEST = 500  # lines of a page: of the API reference, which is longer, each section is a hash
_TITLE = re.compile(r"<title>(.*?)</title>", re.DOTALL)
_MAIN = re.compile(r"<main\b.*?</main>", re.DOTALL)
_ADMIN = re.compile(r'<div id="content".*?(?=<footer id="footer"|</body>)', re.DOTALL)
_ACCOUNT = re.compile(r'class="account-name">([^<]*)<')
_ID = re.compile(r"‹id \d+›")
_SAME_PAGE = re.compile(r'(name="next" value=")[^"]*')  # where the choice of a language leads
_PLACE = re.compile(r"((?:older|newer)=)[^\"&]+")  # in a list of receipts: a time and a random ID
_SECTION = re.compile(r"(?=<h2\b)")
_HEADING = re.compile(r"<h[12]\b[^>]*>(.*?)</h[12]>", re.DOTALL)
_TAG = re.compile(r"<!--.*?-->|<(?:script|style)\b.*?</(?:script|style)>|<[^>]*>", re.DOTALL)


class Frames:
    """The parts of pages around the main part. Each is recorded once, named by the first page that has it."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def name(self, frame: str, title: str) -> str:
        """The name of this frame on a page with this title."""
        frame = _SAME_PAGE.sub(r"\g<1>…", _ID.sub("‹id›", frame))
        if frame not in self._known:
            others = sum(name.startswith(title) for name in self._known.values())
            self._known[frame] = f"{title} ({others + 1})" if others else title
        return self._known[frame]

    def blocks(self) -> list[str]:
        """The frames for the end of the file. Those of the admin come from Django, so they are hashes."""
        said = []
        for frame, name in self._known.items():
            if 'id="user-tools"' in frame or 'id="site-name"' in frame:
                said.append(f"## Frame of {name}: {_hash(frame)}")
            else:
                said += [f"## Frame of {name}", "\n".join(f"| {line}" for line in outline(frame))]
        return said


def lines(html: str, frames: Frames) -> list[str]:
    """A masked page."""
    html = _clean(html)
    found = _TITLE.search(html)
    title = " ".join(_words(found[1])) if found else ""
    said = [f"title: {title}"]
    admin = _ADMIN.search(html)
    main = admin or _MAIN.search(html)
    if main is None:
        return [*said, *outline(html)]
    frame = _TITLE.sub("<title>…</title>", html[: main.start()] + "…\n" + html[main.end() :])
    if account := _ACCOUNT.search(frame):
        frame = frame[: account.start(1)] + "…" + frame[account.end(1) :]
        said.append(f"signed in as: {account[1]}")
    name = frames.name(frame, title)
    said += [f"frame: of {name}"] if name != title else []
    if admin:
        return said + _of_admin(main[0])
    whole = outline(main[0])
    return said + (whole if len(whole) <= LONGEST else _in_sections(main[0]))


def _in_sections(main: str) -> list[str]:
    said = []
    for section in _SECTION.split(main):
        heading = _HEADING.search(section)
        name = " ".join(_words(heading[1])) if heading else "(before the first heading)"
        said.append(f"section {name!r}: {_hash(section)}")
    return said


def _of_admin(content: str) -> list[str]:
    """The hash of the content, and its words. The markup comes from Django."""
    return [f"content: {_hash(content)}", *folded(_words(content), 2)]


def _clean(html: str) -> str:
    stripped = (line.strip() for line in _PLACE.sub(r"\1…", html).splitlines())
    return "\n".join(line for line in stripped if line)


def _words(html: str) -> list[str]:
    words = (line.strip() for line in unescape(_TAG.sub("\n", html)).splitlines())
    return [line for line in words if line]


def _hash(text: str) -> str:
    return f"{len(text)} characters, SHA-256 {hashlib.sha256(text.encode()).hexdigest()[:32]}"
