"""Database connections that are kept from one request to the next, and not used once the server has hung up.

Django's CONN_HEALTH_CHECKS asks the server before each request whether it is there, which costs a round trip
each time. That it has hung up can be seen without asking: there is something to read that nobody asked for.

Behind a pooler such as PgBouncer there is nothing to see, because the pooler keeps our connection when the
server has closed its own. The next statement then waits in the pooler: `hung_database` ends that.
"""

import select
from typing import Any

import psycopg
from django.db import connections

from infra.database import internals

_CURSOR = "_kept_cursor"  # on Django's connection, which is one thread's
# psycopg's own, in C where that is installed; Django's is Python, so that a zone can be said for each cursor.
_TIMES = psycopg.adapters.get_loader(psycopg.adapters.types["timestamptz"].oid, psycopg.pq.Format.TEXT)


def close_dead_connections(**_: Any) -> None:
    """Close this thread's connections that the server closed; a receiver of `request_started`."""
    for connection in connections.all(initialized_only=True):
        kept = connection.vendor == "postgresql" and connection.connection and not connection.in_atomic_block
        if kept and _may_be_dead(connection) and not connection.is_usable():
            connection.close()


def kept_cursor(connection: Any) -> Any:
    """One cursor for the statements of a request; their rows are to be fetched before the next is asked.

    Each cursor finds out anew how every type of value is written and read, which takes longer than asking.
    It remembers what was asked and read last, so `drop_cursors` ends it with the request.
    """
    if not internals.ARE_TRIED or connection.queries_logged:  # Django has another kind of cursor then
        return connection.cursor()
    cursor = getattr(connection, _CURSOR, None)
    if cursor is None or cursor.connection is not connection.connection:
        cursor = connection.cursor()
        if connection.vendor == "postgresql":
            cursor.adapters.register_loader("timestamptz", _TIMES)
        setattr(connection, _CURSOR, cursor)
    return cursor


def drop_cursors(**_: Any) -> None:
    """Forget this thread's cursors with what they last read; a receiver of `request_finished`."""
    for connection in connections.all(initialized_only=True):
        connection.__dict__.pop(_CURSOR, None)


def _may_be_dead(connection: Any) -> bool:
    return not internals.ARE_TRIED or _has_news(connection.connection)


def _has_news(raw: Any) -> bool:
    """Whether the server sent anything while nothing was asked: its last words, a notice, or the end."""
    if raw.closed:
        return True
    poll = select.poll()
    poll.register(raw.fileno(), select.POLLIN)
    return bool(poll.poll(0))
