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

LOCAL = "http://localhost:8000"  # where docs/ has the sandbox
_SHORT = 20  # characters of code that fit on the line of a phone
_MAY_BREAK = re.compile(r"(?<=[:/?=])(?=\w)")
_COMMENT = re.compile(r"<!--.*-->", re.DOTALL)  # for those who edit the file
_LANGUAGES = {"sh": "Shell", "js": "JavaScript", "python": "Python", "json": "JSON", "html": "HTML"}


class _Renderer(RendererHTML):
    """Code that is wider than a phone can be scrolled, by keyboard as well; tables are stacked there."""

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
    """A title, the chapters as (anchor, title in HTML), and the HTML below the title."""

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
    tokens = _uncommented(parser.parse(text.replace("{base_url}", base_url).replace(LOCAL, base_url)))
    title = _plain(tokens[1])
    contents = list(_anchored(tokens))
    _label_cells(tokens)
    _mark_narrow(tokens)
    for token in tokens:
        token.children = list(_linked(token.children, link_to)) if token.children else token.children
    return Document(title, contents, parser.renderer.render(tokens[3:], parser.options, {}))


def _uncommented(tokens: Sequence[Token]) -> list[Token]:
    """The same without HTML comments, which would be text here; each is a paragraph of its own."""
    comments = {at for at, token in enumerate(tokens) if _COMMENT.fullmatch(token.content)}
    paragraphs = {
        at for at in comments if tokens[at].type == "inline" and tokens[at - 1].type == "paragraph_open"
    }
    dropped = {near for at in paragraphs for near in (at - 1, at, at + 1)}
    return [token for at, token in enumerate(tokens) if at not in dropped]


def _anchored(tokens: Sequence[Token]) -> Iterator[tuple[str, str]]:
    """Gives headings the anchors that links to the file use; those of chapters with their titles."""
    for opening, inside in pairwise(tokens):
        if opening.type == "heading_open" and opening.tag != "h1":
            anchor = re.sub(r"[^\w -]", "", inside.content.lower()).replace(" ", "-")
            opening.attrSet("id", anchor)
            if opening.tag == "h2":
                yield anchor, _breakable(_plain(inside))


def _label_cells(tokens: Sequence[Token]) -> None:
    """Gives each cell the title of its column, which is shown beside it where rows are stacked."""
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
    """Marks the code in headings and cells, which have less room than that in a paragraph."""
    for opening, inside in pairwise(tokens):
        if opening.type in ("heading_open", "th_open", "td_open"):
            for child in inside.children or ():
                child.meta["narrow"] = True


def _breakable(text: str) -> str:
    """The text as HTML; if it is long, a line may end after a sign in it and need not split a word."""
    html = escapeHtml(text)
    return _MAY_BREAK.sub("<wbr>", html) if len(text) > _SHORT else html


def _plain(inside: Token) -> str:
    """The words of a heading or cell, without their markup."""
    return "".join(child.content for child in inside.children or ())


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
