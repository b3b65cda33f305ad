"""How the service logs: structured events, JSON for machines, coloured text for a person at a terminal.

Codes, keys, tokens and personal values are never passed to a logger; events carry ids and outcomes.
"""

from typing import Any

import structlog


def logging_config(*, level: str, as_json: bool) -> dict[str, Any]:
    """The `LOGGING` dictionary; also configures structlog to end in the same handlers."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    renderer: Any = (
        structlog.processors.JSONRenderer()
        if as_json
        else structlog.dev.ConsoleRenderer(colors=False, pad_event_to=0)
    )
    exceptions: list[Any] = [structlog.processors.format_exc_info] if as_json else []
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "structured": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": shared,
                "processors": [
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    *exceptions,
                    renderer,
                ],
            }
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "structured"}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # Django would mail tracebacks and repeat each 4xx; our own request log says it once.
            "django": {"handlers": ["stderr"], "level": level, "propagate": False},
            "django.request": {"handlers": ["stderr"], "level": "ERROR", "propagate": False},
            "django.security.DisallowedHost": {"handlers": [], "propagate": False},
        },
    }
