"""Outlines HTML: one line for each block of a page, indented as the blocks are nested.

Tag, ID, classes and attributes stand as in a CSS selector; end tags are left out, and a block that is alone
in another stands on its line. Words keep their inline markup:

    main#content.page[tabindex=-1] > div.card.stack
      h1 Check your e-mails
      p.lead We sent a code to <strong>alice@example.org</strong>.
"""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")
)
_INLINE = frozenset(
    ("a", "abbr", "b", "bdi", "bdo", "br", "cite", "code", "data", "dfn", "em", "i", "kbd", "mark", "q", "s")
    + ("samp", "small", "span", "strong", "sub", "sup", "time", "u", "var", "wbr")
)
_VERBATIM = {"pre", "textarea", "script", "style"}  # spaces and line breaks count in these
_SPACES = re.compile(r"\s+")


@dataclass
class _Element:
    tag: str
    start: str  # the start tag as it stands in the page
    attributes: list[tuple[str, str | None]] = field(default_factory=list)
    parts: "list[_Element | str]" = field(default_factory=list)


def outline(html: str) -> list[str]:
    """The lines of a piece of HTML."""
    parser = _Parser()
    parser.feed(html)
    parser.close()
    return _block_lines(parser.root.parts, 0)


class _Parser(HTMLParser):
    """Builds the tree of elements, and keeps character references as they are written."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.root = _Element("", "")
        self._open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = _Element(tag, self.get_starttag_text() or "", attrs)
        self._open[-1].parts.append(element)
        if tag not in _VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open[-1].parts.append(_Element(tag, self.get_starttag_text() or "", attrs))

    def handle_endtag(self, tag: str) -> None:
        tags = [element.tag for element in self._open]
        if tag in tags[1:]:
            del self._open[len(tags) - 1 - tags[::-1].index(tag) :]
        else:
            self._open[-1].parts.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        self._open[-1].parts.append(data)

    def handle_entityref(self, name: str) -> None:
        self._open[-1].parts.append(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self._open[-1].parts.append(f"&#{name};")

    def handle_comment(self, data: str) -> None:
        self._open[-1].parts.append(f"<!--{data}-->")

    def handle_decl(self, decl: str) -> None:
        self._open[-1].parts.append(f"<!{decl}>")


def _is_inline(part: "_Element | str") -> bool:
    return isinstance(part, str) or (part.tag in _INLINE and all(map(_is_inline, part.parts)))


def _block_lines(parts: "list[_Element | str]", indent: int) -> list[str]:
    """The lines of what stands in one block: a line for each block, and one for the words between two."""
    lines: list[str] = []
    words = ""
    for part in parts:
        if _is_inline(part):
            words += _markup(part)
            continue
        assert isinstance(part, _Element)
        lines += _word_lines(words, indent)
        lines += _element_lines(part, indent)
        words = ""
    return lines + _word_lines(words, indent)


def _word_lines(words: str, indent: int) -> list[str]:
    said = _SPACES.sub(" ", words).strip()
    return [f"{' ' * indent}{said}"] if said else []


def _element_lines(element: _Element, indent: int) -> list[str]:
    before = " " * indent + _selector(element)
    if element.tag in _VERBATIM:
        text = "".join(map(_markup, element.parts))
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) < 2:
            return [f"{before} {text.strip()}".rstrip()]
        return [before, *(f"{' ' * indent}  {line}" for line in lines)]
    if all(map(_is_inline, element.parts)):
        return [f"{before} {_SPACES.sub(' ', ''.join(map(_markup, element.parts))).strip()}".rstrip()]
    inside = _block_lines(element.parts, indent + 2)
    alone = [part for part in element.parts if not isinstance(part, str) or part.strip()]
    if len(alone) == 1:
        first, *rest = _element_lines(alone[0], indent) if isinstance(alone[0], _Element) else inside
        return [f"{before} > {first.strip()}", *rest]
    return [before, *inside]


def _selector(element: _Element) -> str:
    said, others = element.tag, []
    for name, value in element.attributes:
        if name == "id" and value:
            said += f"#{value}"
        elif name == "class" and value:
            said += "".join(f".{each}" for each in value.split())
        else:
            others.append(name if value is None else f"{name}={value}")
    return said + (f"[{', '.join(others)}]" if others else "")


def _markup(part: "_Element | str") -> str:
    if isinstance(part, str):
        return part
    end = "" if part.tag in _VOID or part.start.endswith("/>") else f"</{part.tag}>"
    return part.start + "".join(map(_markup, part.parts)) + end
