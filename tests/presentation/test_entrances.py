"""The stages of the entrances: in an order that works, and begun by views that do no more."""

import ast
import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields
from types import ModuleType
from typing import Any

import pytest

from presentation import views
from presentation.entrances import stages
from presentation.entrances.context import (
    AuthorizeContext,
    ExchangeContext,
    PushContext,
    ResumeContext,
)
from presentation.entrances.stages import go_through

ENTRANCES: dict[str, tuple[type, tuple[Callable[..., Any], ...]]] = {
    "authorize": (AuthorizeContext, stages.AUTHORIZE),
    "resume": (ResumeContext, stages.RESUME),
    "decide": (ResumeContext, stages.DECIDE),
    "push": (PushContext, stages.PUSH),
    "exchange": (ExchangeContext, stages.EXCHANGE),
}
each_entrance = pytest.mark.parametrize("entrance", ENTRANCES)


def attributes(function: Callable[..., Any], *, written: bool) -> Iterator[str]:
    """The attributes of the context that a stage writes or reads, also through functions of its module."""
    module = inspect.getmodule(function)
    assert isinstance(module, ModuleType)
    for node in ast.walk(ast.parse(inspect.getsource(function))):
        if isinstance(node, ast.Attribute):
            if ast.unparse(node.value) == "context" and isinstance(node.ctx, ast.Store) is written:
                yield node.attr
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            given = [ast.unparse(argument) for argument in node.args]
            helper = getattr(module, node.func.id, None)
            if "context" in given and helper is not None:
                yield from attributes(helper, written=written)


@each_entrance
def test_each_stage_reads_only_what_an_earlier_one_found(entrance: str) -> None:
    kind, of_entrance = ENTRANCES[entrance]
    known = {one.name for one in fields(kind) if one.init or one.default is not MISSING}
    for stage in of_entrance:
        own = set(attributes(stage, written=True))
        assert set(attributes(stage, written=False)) - own <= known, stage.__name__
        known |= own


@each_entrance
def test_each_stage_says_in_a_sentence_what_it_does(entrance: str) -> None:
    _kind, of_entrance = ENTRANCES[entrance]
    for stage in of_entrance:
        assert (stage.__doc__ or "").partition("\n")[0].endswith((".", ";")), stage.__name__


@each_entrance
def test_no_context_shows_its_secrets_in_a_traceback(entrance: str) -> None:
    kind, _stages = ENTRANCES[entrance]
    assert kind.__repr__ is object.__repr__


@pytest.mark.parametrize("view", [views.authorize, views.resume])
def test_the_views_of_the_flow_do_no_more_than_begin(view: Callable[..., Any]) -> None:
    (function,) = ast.parse(inspect.getsource(view)).body
    assert isinstance(function, ast.FunctionDef)
    (_docstring, *statements) = function.body
    assert sum(ast.unparse(statement).count("\n") + 1 for statement in statements) <= 15


def test_the_first_answer_ends_the_request_and_a_refusal_goes_through() -> None:
    gone_through: list[str] = []

    def first(context: list[str]) -> None:
        context.append("first")

    def answers(context: list[str]) -> str:
        context.append("second")
        return "answer"

    def refuses(context: list[str]) -> str:
        raise ZeroDivisionError

    assert go_through((first, answers, refuses), gone_through) == "answer"
    assert gone_through == ["first", "second"]
    with pytest.raises(ZeroDivisionError):
        go_through((first, refuses, answers), [])
    with pytest.raises(RuntimeError, match="no response"):
        go_through((first,), [])
