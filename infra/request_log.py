"""The line that the log gets for each request: its reference, and facts that views add on the way.

`config.middleware` begins and writes it. Use cases call `note` without knowing the request.
"""

import secrets
from contextvars import ContextVar
from typing import Any

import structlog

log = structlog.get_logger(__name__)


class RequestLine:
    """The line of one request. `reference` is shown on error pages, so that people can quote it."""

    def __init__(self) -> None:
        self.reference = secrets.token_hex(4).upper()
        self.facts: dict[str, Any] = {}


_line: ContextVar[RequestLine | None] = ContextVar("request_line", default=None)


def begin() -> RequestLine:
    """Begins the line of a request. Until `end`, this thread adds to it."""
    line = RequestLine()
    _line.set(line)
    return line


def end() -> None:
    """After the request: this thread adds to no line any more."""
    _line.set(None)


def note(outcome: str, **facts: object) -> None:
    """Adds an outcome, such as `answered`, and its facts to the line of the request.

    A line has room for one outcome. A further one, or one without a request, becomes an event of its own.
    """
    line = _line.get()
    if line is None or line.facts:
        log.info(outcome, **facts)
    else:
        line.facts = {"outcome": outcome, **facts}


def with_reference(logger: Any, method: str, event: dict[str, Any]) -> dict[str, Any]:
    """A structlog processor: every event that is logged during a request has its reference."""
    if line := _line.get():
        event["reference"] = line.reference
    return event
