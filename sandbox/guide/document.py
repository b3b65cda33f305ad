"""Renders a page of docs/ as HTML with a table of contents. HTML in the page is escaped. Pure."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

LOCAL = "http://localhost:8000"  # the address of the sandbox in docs/
_SHORT = 20  # characters of code that fit on one line of a phone
_MAY_BREAK = re.compile(r"(?<=[:/?=_])(?=\w)")
_LANGUAGES = {"sh": "Shell", "js": "JavaScript", "python": "Python", "json": "JSON", "html": "HTML"}


class _Renderer(RendererHTML):
    """Makes wide code scrollable, also with the keyboard, and lets tables be stacked on a phone."""

    def fence(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        label = _LANGUAGES.get(tokens[idx].info.strip(), "Text")
        return (
            f'<pre class="code" tabindex="0" aria-label="{label}">{escapeHtml(tokens[idx].content)}</pre>\n'
        )

    def code_inline(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        code, narrow = tokens[idx].content, tokens[idx].meta.get("narrow")
        return f"<code>{_breakable(code) if narrow else escapeHtml(code)}</code>"

    def table_open(self, *_: Any) -> str:
        return (
            '<div class="table-scroll table-stack" tabindex="0" role="group" aria-label="Table">\n<table>\n'
        )

    def table_close(self, *_: Any) -> str:
        return "</table>\n</div>\n"


@dataclass(frozen=True)
class Document:
    """The title, the chapters as (anchor, title in HTML), and the HTML below the title."""

    title: str
    contents: list[tuple[str, str]]
    html: str


def rendered(text: str, *, base_url: str, link_to: Callable[[str], str | None]) -> Document:
    """The Markdown text of a page of docs/, which begins with its title, as HTML.

    base_url: replaces the address of the sandbox in the text. link_to: returns the address of another page
    of docs/ by its file name without `.md`; for None, the link is removed and its text stays.
    """
    # With "html" off, tags are escaped, and only http(s) and relative addresses become links.
    options = {"html": False, "typographer": True}
    parser = MarkdownIt("commonmark", options, renderer_cls=_Renderer).enable(["table", "smartquotes"])
    tokens = parser.parse(text.replace("{base_url}", base_url).replace(LOCAL, base_url))
    title = _plain(tokens[1])
    contents = list(_anchored(tokens))
    _label_cells(tokens)
    _mark_narrow(tokens)
    for token in tokens:
        token.children = list(_linked(token.children, link_to)) if token.children else token.children
    return Document(title, contents, parser.renderer.render(tokens[3:], parser.options, {}))


def _anchored(tokens: Sequence[Token]) -> Iterator[tuple[str, str]]:
    """Gives headings the anchors that links on GitHub use; yields anchor and title of each chapter."""
    for opening, inside in pairwise(tokens):
        if opening.type == "heading_open" and opening.tag != "h1":
            anchor = re.sub(r"[^\w -]", "", inside.content.lower()).replace(" ", "-")
            opening.attrSet("id", anchor)
            if opening.tag == "h2":
                yield anchor, _breakable(_plain(inside))


def _label_cells(tokens: Sequence[Token]) -> None:
    """Gives each cell the title of its column, which the page shows where rows are stacked."""
    titles: list[str] = []
    column = 0
    for opening, inside in pairwise(tokens):
        match opening.type:
            case "thead_open":
                titles = []
            case "tr_open":
                column = 0
            case "th_open":
                titles.append(_plain(inside))
            case "td_open":
                opening.attrSet("data-label", titles[column])
                column += 1


def _mark_narrow(tokens: Sequence[Token]) -> None:
    """Marks the code in headings and cells, which are narrower than paragraphs."""
    for opening, inside in pairwise(tokens):
        if opening.type in ("heading_open", "th_open", "td_open"):
            for child in inside.children or ():
                child.meta["narrow"] = True


def _breakable(text: str) -> str:
    """The text as HTML. In a long text, lines may break after punctuation marks, not only within a word."""
    html = escapeHtml(text)
    return _MAY_BREAK.sub("<wbr>", html) if len(text) > _SHORT else html


def _plain(inside: Token) -> str:
    """The text of a heading or cell without markup."""
    return "".join(child.content for child in inside.children or ())


def _linked(children: Sequence[Token], link_to: Callable[[str], str | None]) -> Iterator[Token]:
    """The tokens with links to other pages rewritten, and links to files that are not served removed."""
    dropped = False
    for token in children:
        if token.type == "link_open":
            href = _elsewhere(str(token.attrGet("href")), link_to)
            dropped = href is None
            if href is not None:
                token.attrSet("href", href)
                yield token
        elif token.type != "link_close" or not dropped:
            yield token


def _elsewhere(href: str, link_to: Callable[[str], str | None]) -> str | None:
    name, hash_, anchor = href.partition("#")
    if not name.endswith(".md") or "://" in name:
        return href
    address = link_to(name.removesuffix(".md"))
    return None if address is None else address + hash_ + anchor
