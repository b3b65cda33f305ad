"""Facts that each line of the log has while a request is served, such as its reference.

As `structlog.contextvars`, which looks at every context variable of the process for each line.
"""

from contextvars import ContextVar
from typing import Any

_facts: ContextVar[dict[str, Any]] = ContextVar("log_context")


def begin(**facts: Any) -> dict[str, Any]:
    """From now on this thread's lines have these facts and no others. Returns all facts, now and later."""
    _facts.set(facts)
    return facts


def bind(**facts: Any) -> None:
    """Adds facts to all later lines of the request; does nothing outside of a request."""
    if context := _facts.get({}):
        context.update(facts)


def facts() -> dict[str, Any]:
    """The facts of this thread's request."""
    return _facts.get({})


def end() -> None:
    """From now on this thread's lines have no such facts."""
    _facts.set({})


def merge(logger: Any, method: str, event: dict[str, Any]) -> dict[str, Any]:
    """A structlog processor that adds the facts; those of the line itself win."""
    return {**_facts.get({}), **event}
