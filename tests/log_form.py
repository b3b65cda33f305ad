"""The form of the log's lines during a test. The tests run as a sandbox, whose lines are text."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from structlog.stdlib import ProcessorFormatter

from config.logs import StandardErrorHandler, logging_config, structlog_config


@contextmanager
def log_form(*, as_json: bool) -> Iterator[None]:
    """The service writes its own events and those of libraries in this form."""
    ours = structlog.get_config()["processors"]  # the list that every logger uses
    of_libraries = logging.getLogger("django").handlers[0]
    assert isinstance(of_libraries, StandardErrorHandler)
    before = ours.copy(), of_libraries.formatter
    ours[:] = structlog_config(level="INFO", as_json=as_json)["processors"]
    formatter = logging_config(level="INFO", as_json=as_json)["formatters"]["line"]
    of_libraries.setFormatter(ProcessorFormatter(processors=formatter["processors"]))
    try:
        yield
    finally:
        ours[:], of_libraries.formatter = before
