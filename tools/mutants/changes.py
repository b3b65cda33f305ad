"""The small changes that a tool can make to any Python source, such as `<` in place of `<=`. Pure.

A change keeps the rest of the source as it is, so that its diff can be read.
"""

import ast
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass

_SWAPPED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.Lt: ast.LtE,
    ast.Gt: ast.GtE,
    ast.In: ast.NotIn,
    ast.Is: ast.IsNot,
}
_OTHER = _SWAPPED | {other: one for one, other in _SWAPPED.items()}
_SKIPPED = ("annotation", "returns")  # not executed


@dataclass(frozen=True)
class Change:
    """One change: its kind, the line where it begins, and whole lines of the source before and after it."""

    kind: str
    line: int
    before: str
    after: str


def changes(source: str) -> list[Change]:
    """Every change that can be made to a module; raises SyntaxError if that is no Python."""
    lines = source.encode().splitlines(keepends=True)
    made = []
    for node, kind, replacement in _replacements(ast.parse(source)):
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        begin, end = lines[first][: node.col_offset], lines[last][node.end_col_offset :]
        after = (begin + replacement.encode() + end).decode()
        # The lines before are taken along until the text occurs only once.
        start = first
        while start and source.count(b"".join(lines[start : last + 1]).decode()) > 1:
            start -= 1
        before = b"".join(lines[start : last + 1]).decode()
        made.append(Change(kind, node.lineno, before, b"".join(lines[start:first]).decode() + after))
    return made


def _replacements(root: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, str, str]]:
    """Each node that can be replaced, what is done to it, and the new text."""
    for node in _executed(root):
        match node:
            case ast.Compare(ops=[op]) if type(op) in _OTHER:
                yield node, "another comparison", _expression(node, ops=[_OTHER[type(op)]()])
            case ast.BoolOp(op=op):
                yield node, "and/or", _expression(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield node, "without not", f"({ast.unparse(operand)})"
            case ast.If(test=test) | ast.While(test=test) if isinstance(
                test, ast.Name | ast.Call | ast.Attribute
            ):
                yield test, "the opposite condition", f"(not {ast.unparse(test)})"
            case ast.Constant(value=bool(value)):
                yield node, "another constant", str(not value)
            case ast.Constant(value=int(value)):
                yield node, "another constant", str(value + 1)
            case ast.Return(value=ast.expr() as value) if not _is_none(value):
                yield node, "return None", "return None"
            case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Raise() | ast.Delete():
                yield node, "a statement less", "pass"


def _executed(node: ast.AST) -> Iterator[ast.AST]:
    """The node and all below it that is worth a change.

    Not inside of f-strings, because Python 3.11 does not know the positions there.
    """
    yield node
    for name, value in ast.iter_fields(node):
        if name in _SKIPPED:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr):
                yield from _executed(child)


def _expression(node: ast.expr, **fields: object) -> str:
    changed = copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return f"({ast.unparse(changed)})"


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None
