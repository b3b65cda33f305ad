"""Database connections that are kept from one request to the next, and not used once the server has hung up.

Django's CONN_HEALTH_CHECKS asks the server before each request whether it is there, which costs a round trip
each time. That it has hung up can be seen without asking: there is something to read that nobody asked for.
"""

import select
from typing import Any

from django.db import connections


def close_dead_connections(**_: Any) -> None:
    """Close this thread's connections that the server closed; a receiver of `request_started`."""
    for connection in connections.all(initialized_only=True):
        kept = connection.vendor == "postgresql" and connection.connection and not connection.in_atomic_block
        if kept and _has_news(connection.connection) and not connection.is_usable():
            connection.close()


def _has_news(raw: Any) -> bool:
    """Whether the server sent anything while nothing was asked: its last words, a notice, or the end."""
    if raw.closed:
        return True
    poll = select.poll()
    poll.register(raw.fileno(), select.POLLIN)
    return bool(poll.poll(0))
