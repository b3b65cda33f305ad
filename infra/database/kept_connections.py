"""Keeps database connections from one request to the next, and drops those that the server has closed.

Django's CONN_HEALTH_CHECKS queries the server before each request, which costs a round trip each time. A
closed connection can be recognised without a query: its socket is readable although nothing was asked.

Behind a pooler such as PgBouncer this shows nothing, because the pooler keeps our connection open when the
server has closed its own. The next statement then waits in the pooler; `hung_database` ends that wait.
"""

import select
from typing import Any

from django.db import connections


def close_dead_connections(**_: Any) -> None:
    """Closes this thread's connections that the server has closed; a receiver of `request_started`."""
    for connection in connections.all(initialized_only=True):
        kept = connection.vendor == "postgresql" and connection.connection and not connection.in_atomic_block
        if kept and _has_news(connection.connection) and not connection.is_usable():
            connection.close()


def _has_news(raw: Any) -> bool:
    """True if the idle socket is readable: the server closed it, or sent an error or a notice."""
    if raw.closed:
        return True
    poll = select.poll()
    poll.register(raw.fileno(), select.POLLIN)
    return bool(poll.poll(0))
