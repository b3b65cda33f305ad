"""Logging: structured events, as JSON in production and as text in the sandbox.

structlog writes our own events directly. Those of libraries, such as Django, come through `logging`. Both
pass the same processors and end in `write`, so all lines have one form.

Events contain ids and outcomes; no code passes codes, keys, tokens or personal values to a logger. Exceptions
of libraries may contain personal values nevertheless, so a filter removes them from messages and tracebacks.
"""

import json
import logging
import os
import re
import sys
from collections.abc import Callable
from threading import RLock
from typing import Any

import orjson
import structlog

from infra import log_context

# A database names the refused row, a mail server the recipient.
_ROW = re.compile(r"^(DETAIL|CONTEXT):.*?(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)
_PATH = re.compile(r"(?i)\b([a-z][a-z0-9+.-]*://[^/\s?#]*)[/?#]\S*")
_ADDRESS = re.compile(r"[^\s@'\"<>(){}\[\]=,:;]{1,254}@[^\s@'\"<>(){}\[\],:;]+")


def without_personal_values(logger: Any, method: str, event: dict[str, Any]) -> dict[str, Any]:
    """A structlog processor that removes rows and e-mail addresses from messages and tracebacks."""
    for key in ("event", "exception"):
        if isinstance(text := event.get(key), str):
            event[key] = _ADDRESS.sub("(address)", _ROW.sub(r"\1: (left out)", text))
    return event


# `repr` decides what is shown of these, as of all other objects: some leave personal values out.
_NOT_BY_MEMBERS = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME


def as_line(event: dict[str, Any], default: Any) -> str:
    """The event as JSON in ASCII, which any collector of logs reads; `default` writes what JSON has not."""
    try:
        written = orjson.dumps(event, default, _NOT_BY_MEMBERS)
    except TypeError:  # half of a surrogate pair, or a number of more than 64 bits
        written = None
    if written is None or not written.isascii():
        return json.dumps(event, default=default, separators=(",", ":"))
    return written.decode()


class WithoutPath(logging.Filter):
    """Removes paths from Django's messages about failed requests, because paths of links contain secrets.

    Those of the request, and of the page with the form (`Referer`), which a refused form names.

    The line of the request log has the route and the same reference.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Lets every record pass, without the path."""
        if request := getattr(record, "request", None):
            text = record.getMessage().replace(request.path, "(path)")
            record.msg, record.args = _PATH.sub(r"\1/(path)", text), ()
        return True


_writing = RLock()  # a signal handler may log while its thread writes a line
# Nobody writes during a fork. Otherwise the child would wait for ever for a thread that it does not have.
os.register_at_fork(
    before=_writing.acquire, after_in_parent=_writing.release, after_in_child=_writing.release
)


def write(line: str) -> None:
    """Writes a line to standard error. A line that cannot be written is lost; the request goes on."""
    try:
        with _writing:
            sys.stderr.write(f"{line}\n")
            sys.stderr.flush()
    except Exception:  # closed, without a reader, or on a full disk
        return


class StandardErrorLogger:
    """What structlog gives the lines of our own events to."""

    def __init__(self, name: str) -> None:
        self.name = name  # `add_logger_name` reads it

    def msg(self, line: str) -> None:
        write(line)

    debug = info = warning = error = critical = msg


class StandardErrorHandler(logging.Handler):
    """What `logging` gives the events of libraries to."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            write(self.format(record))
        except Exception:
            self.handleError(record)


# What every event gets beside its own members.
_FACTS: list[Any] = [
    log_context.merge,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]


def _to_line(*, as_json: bool) -> list[Any]:
    """The processors that make a line of an event and its facts."""
    text = structlog.dev.ConsoleRenderer(
        colors=False, pad_event_to=0, exception_formatter=structlog.dev.plain_traceback
    )
    return [
        structlog.processors.format_exc_info,
        without_personal_values,
        _rendering(structlog.processors.JSONRenderer(as_line) if as_json else text),
    ]


def _rendering(renderer: Callable[..., Any]) -> Callable[..., Any]:
    """The renderer, which leaves out what cannot be shown, such as an object whose `__repr__` fails."""

    def render(logger: Any, method: str, event: dict[str, Any]) -> Any:
        try:
            return renderer(logger, method, {**event})  # the one for text takes out what it has written
        except Exception as error:
            plain = {name: value for name, value in event.items() if isinstance(value, str | int | float)}
            return renderer(logger, method, {**plain, "not_shown": type(error).__name__})

    return render


def structlog_config(*, level: str, as_json: bool) -> dict[str, Any]:
    """What `structlog.configure` takes, for our own events."""
    return {
        "processors": [*_FACTS, *_to_line(as_json=as_json)],
        "logger_factory": StandardErrorLogger,
        "wrapper_class": structlog.make_filtering_bound_logger(level),
        "cache_logger_on_first_use": True,
    }


def logging_config(*, level: str, as_json: bool) -> dict[str, Any]:
    """The `LOGGING` dictionary, for the events of libraries."""
    # At DEBUG libraries log the data they process: Django's templates log all values of a page, with secrets.
    level = "INFO" if level == "DEBUG" else level
    formatter = structlog.stdlib.ProcessorFormatter
    processors = [*_FACTS, formatter.remove_processors_meta, *_to_line(as_json=as_json)]
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"()": formatter, "processors": processors}},
        "filters": {"without_path": {"()": WithoutPath}},
        "handlers": {
            "stderr": {"()": StandardErrorHandler, "formatter": "line", "filters": ["without_path"]},
            "nowhere": {"class": "logging.NullHandler"},  # without a handler Python would use its own
        },
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # Django would mail tracebacks and log each 4xx, which the request log has already.
            "django": {"handlers": ["stderr"], "level": level, "propagate": False},
            "django.request": {"handlers": ["stderr"], "level": "ERROR", "propagate": False},
            "django.security.DisallowedHost": {"handlers": ["nowhere"], "propagate": False},
        },
    }
