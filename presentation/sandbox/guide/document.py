"""A page of docs/ as HTML with a table of contents: no HTML of its own, no inline style. Pure."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

LOCAL = "http://localhost:8000"  # what code in docs/ is for, unless it is told otherwise
_LANGUAGES = {"sh": "Shell", "js": "JavaScript", "python": "Python", "json": "JSON", "html": "HTML"}


class _Renderer(RendererHTML):
    """Code and tables that are wider than a phone can be scrolled, by keyboard as well."""

    def fence(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        label = _LANGUAGES.get(tokens[idx].info.strip(), "Text")
        return (
            f'<pre class="code" tabindex="0" aria-label="{label}">{escapeHtml(tokens[idx].content)}</pre>\n'
        )

    def table_open(self, *_: Any) -> str:
        return '<div class="table-scroll" tabindex="0" role="group" aria-label="Table">\n<table>\n'

    def table_close(self, *_: Any) -> str:
        return "</table>\n</div>\n"


@dataclass(frozen=True)
class Document:
    """A title, the chapters as (anchor, title), and the HTML below the title."""

    title: str
    contents: list[tuple[str, str]]
    html: str


def rendered(text: str, *, base_url: str, link_to: Callable[[str], str | None]) -> Document:
    """A page of docs/ that begins with its title, with the addresses of the service at `base_url`.

    link_to: the address of another page of docs/ by its file name; None leaves its words without a link.
    """
    # "commonmark" with HTML switched off: what looks like a tag is text, and only http(s) and relative
    # addresses become links.
    options = {"html": False, "typographer": True}
    parser = MarkdownIt("commonmark", options, renderer_cls=_Renderer).enable(["table", "smartquotes"])
    tokens = parser.parse(text.replace("{base_url}", base_url))
    title = tokens[1].content
    contents = list(_anchored(tokens))
    for token in tokens:
        if token.type == "fence":
            token.content = token.content.replace(LOCAL, base_url)
        for child in token.children or ():
            if child.type == "code_inline" and child.content.startswith("export "):
                child.content = child.content.replace(LOCAL, base_url)
        token.children = list(_linked(token.children, link_to)) if token.children else token.children
    return Document(title, contents, parser.renderer.render(tokens[3:], parser.options, {}))


def _anchored(tokens: Sequence[Token]) -> Iterator[tuple[str, str]]:
    """Gives headings the anchors that links to the file use; those of chapters with their titles."""
    for opening, inside in pairwise(tokens):
        if opening.type == "heading_open" and opening.tag != "h1":
            anchor = re.sub(r"[^\w -]", "", inside.content.lower()).replace(" ", "-")
            opening.attrSet("id", anchor)
            if opening.tag == "h2":
                yield anchor, inside.content


def _linked(children: Sequence[Token], link_to: Callable[[str], str | None]) -> Iterator[Token]:
    """The same with links to other files where those are served, and without links that lead nowhere."""
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
    if not name.endswith(".md") or "/" in name:
        return href
    address = link_to(name.removesuffix(".md"))
    return None if address is None else address + hash_ + anchor
