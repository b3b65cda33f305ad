"""How the service logs: structured events, JSON for machines, coloured text for a person at a terminal.

Codes, keys, tokens and personal values are never passed to a logger; events carry ids and outcomes. Other
people's exceptions may say them all the same, so what they say is gone through once more.
"""

import logging
import re
from typing import Any

import structlog

# A database names the row it refused, a mail server the recipient.
_ROW = re.compile(r"^(DETAIL|CONTEXT):.*?(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)
_ADDRESS = re.compile(r"[^\s@'\"<>(){}\[\]=,:;]{1,254}@[^\s@'\"<>(){}\[\],:;]+")


def without_personal_values(logger: Any, method: str, event: dict[str, Any]) -> dict[str, Any]:
    """A structlog processor: rows and e-mail addresses taken out of messages and tracebacks."""
    for key in ("event", "exception"):
        if isinstance(said := event.get(key), str):
            event[key] = _ADDRESS.sub("(address)", _ROW.sub(r"\1: (left out)", said))
    return event


class WithoutPath(logging.Filter):
    """Takes the path out of what Django says of a failed request: the paths of links carry their secrets.

    The request's own line has the route, under the same reference.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Let every record through, without the path."""
        if request := getattr(record, "request", None):
            record.msg, record.args = record.getMessage().replace(request.path, "(path)"), ()
        return True


_SHARED: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]


def logging_config(*, level: str, as_json: bool) -> dict[str, Any]:
    """The `LOGGING` dictionary; also configures structlog to end in the same handlers."""
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
            "nowhere": {"class": "logging.NullHandler"},  # with no handler at all Python would use its own
        },
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # Django would mail tracebacks and repeat each 4xx; our own request log says it once.
            "django": {"handlers": ["stderr"], "level": level, "propagate": False},
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
            structlog.processors.JSONRenderer() if as_json else for_people,
        ],
    }
