"""Keeps the database connection from one request to the next, and drops one that the server has closed.

Django's CONN_HEALTH_CHECKS queries the server before each request, which costs a round trip each time. A
closed connection can be recognised without a query: its socket is readable although nothing was asked.

Behind a pooler such as PgBouncer this shows nothing, because the pooler keeps our connection open when the
server has closed its own. The next statement then waits in the pooler; `hung_database` ends that wait.
"""

import select
from typing import Any

from django.core.signals import request_finished, request_started
from django.db import DEFAULT_DB_ALIAS, connections

from infra.database import hung_database


def receive_signals() -> None:
    """Connects the receivers below, beside those of Django, which close a connection that failed or aged."""
    request_started.connect(close_if_dead)
    request_finished.connect(after_request)


def close_if_dead(**_: Any) -> None:
    """Closes the connection of this thread if the server has closed it."""
    connection = connections[DEFAULT_DB_ALIAS]
    if connection.vendor != "postgresql" or connection.connection is None or connection.in_atomic_block:
        return
    if _has_news(connection.connection) and not connection.is_usable():
        connection.close()


def after_request(**_: Any) -> None:
    """Ends the limit of the waits for the database."""
    hung_database.end()


def _has_news(raw: Any) -> bool:
    """True if the idle socket is readable: the server closed it, or sent an error or a notice."""
    if raw.closed:
        return True
    poll = select.poll()
    poll.register(raw.fileno(), select.POLLIN)
    return bool(poll.poll(0))
