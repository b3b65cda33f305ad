"""A template loader that renders the constant parts of templates once: text, literal phrases, static files.

Constant parts are text, `{% translate "literal" %}` and `{% static "literal" %}`. A run of them ends at a
variable, a condition or a block. The loader depends on internals of Django's template nodes.
"""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from django.template import Context
from django.template.base import Node, NodeList, Template, TextNode
from django.template.defaulttags import IfNode
from django.template.loaders import base, cached
from django.templatetags.i18n import TranslateNode
from django.templatetags.static import StaticNode
from django.utils.translation import get_language


class _Reader(base.Loader):
    def get_template(self, template_name: str, skip: Any = None) -> Template:
        template = super().get_template(template_name, skip)
        _join(template.nodelist)
        return template


class Loader(cached.Loader, _Reader):
    """Django's caching loader, which joins the constant parts of a template before it caches it."""


class _Constant(Node):
    """Neighbouring nodes that depend only on the language: rendered once in each, without a context."""

    child_nodelists = ()

    def __init__(self, nodes: list[Node]) -> None:
        self._nodes = NodeList(nodes)
        self._rendered: dict[str | None, str] = {}

    def render(self, context: Context) -> str:
        language = get_language()
        text = self._rendered.get(language)
        if text is None:
            text = self._rendered[language] = self._nodes.render(Context())
        return text

    render_annotated = render  # constant nodes cause no error that needs the page's context


def _join(nodes: NodeList) -> None:
    """Replaces every run of constant nodes by a `_Constant`, also inside the other nodes."""
    joined: list[Node] = []
    for constant, run in groupby(nodes, _is_constant):
        parts = list(run)
        for inner in (inner for part in parts for inner in _inside(part)):
            _join(inner)
        plain = all(isinstance(part, TextNode) for part in parts)
        joined += [_Constant(parts)] if constant and not plain else parts
    nodes[:] = joined


def _inside(node: Node) -> Iterator[NodeList]:
    if isinstance(node, IfNode):
        yield from (nodes for _condition, nodes in node.conditions_nodelists)
    for name in node.child_nodelists:
        if isinstance(nodes := vars(node).get(name), NodeList):
            yield nodes


def _is_constant(node: Node) -> bool:
    if isinstance(node, TranslateNode):
        phrase = node.filter_expression
        return not (node.asvar or node.message_context or phrase.filters or phrase.var.lookups)
    if isinstance(node, StaticNode):
        return node.varname is None and not node.path.is_var and not node.path.filters
    return isinstance(node, TextNode)
