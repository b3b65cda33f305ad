"""Logging: structured events, as JSON in production and as text in the sandbox.

Events contain ids and outcomes; no code passes codes, keys, tokens or personal values to a logger. Exceptions
of libraries may contain personal values nevertheless, so a filter removes them from messages and tracebacks.
"""

import json
import logging
import re
from typing import Any

import orjson
import structlog

from infra import log_context

OURS = ("config", "infra", "keys", "wallet", "consent", "presentation", "operators", "sandbox")
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


_SHARED: list[Any] = [
    log_context.merge,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]


def logging_config(*, level: str, as_json: bool) -> dict[str, Any]:
    """The `LOGGING` dictionary. Also configures structlog to use the same handlers."""
    # At DEBUG libraries log the data they process: Django's templates log all values of a page, with secrets.
    of_libraries = "INFO" if level == "DEBUG" else level
    structlog.configure(
        processors=[*_SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"structured": _formatter(as_json=as_json)},
        "filters": {"without_path": {"()": WithoutPath}},
        "handlers": {
            "stderr": {
                "class": "logging.StreamHandler",
                "formatter": "structured",
                "filters": ["without_path"],
            },
            "nowhere": {"class": "logging.NullHandler"},  # without a handler Python would use its own
        },
        "root": {"handlers": ["stderr"], "level": of_libraries},
        "loggers": {
            **{package: {"level": level} for package in OURS},
            # Django would mail tracebacks and log each 4xx, which the request log has already.
            "django": {"handlers": ["stderr"], "level": of_libraries, "propagate": False},
            "django.request": {"handlers": ["stderr"], "level": "ERROR", "propagate": False},
            "django.security.DisallowedHost": {"handlers": ["nowhere"], "propagate": False},
        },
    }


def _formatter(*, as_json: bool) -> dict[str, Any]:
    for_people = structlog.dev.ConsoleRenderer(
        colors=False, pad_event_to=0, exception_formatter=structlog.dev.plain_traceback
    )
    return {
        "()": structlog.stdlib.ProcessorFormatter,
        "foreign_pre_chain": _SHARED,
        "processors": [
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            without_personal_values,
            structlog.processors.JSONRenderer(as_line) if as_json else for_people,
        ],
    }
