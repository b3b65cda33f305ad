"""Keeps the database connection from one request to the next, and drops one that the server has closed.

Django's CONN_HEALTH_CHECKS queries the server before each request, which costs a round trip each time. A
closed connection can be recognised without a query: its socket is readable although nothing was asked.

Behind a pooler such as PgBouncer this shows nothing, because the pooler keeps our connection open when the
server has closed its own. The next statement then waits in the pooler; `hung_database` ends that wait.
"""

import select
from typing import Any

import psycopg
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
    """Forgets what was read, and ends the limit of the waits for the database."""
    drop_cursor(connections[DEFAULT_DB_ALIAS])
    hung_database.end()


def _has_news(raw: Any) -> bool:
    """True if the idle socket is readable: the server closed it, or sent an error or a notice."""
    if raw.closed:
        return True
    poll = select.poll()
    poll.register(raw.fileno(), select.POLLIN)
    return bool(poll.poll(0))


_KEPT = "_kept_cursor"  # an attribute of Django's connection, which belongs to one thread
# psycopg's own loader, in C where that is installed; Django's is in Python, to allow a zone for each cursor.
_TIMES = psycopg.adapters.get_loader(psycopg.adapters.types["timestamptz"].oid, psycopg.pq.Format.TEXT)


def kept_cursor(connection: Any) -> Any:
    """The cursor that all statements of a request share: fetch all rows before the next `execute`.

    A new cursor determines anew how each type is written and read, which takes longer than a short query.
    The cursor remembers its last query and rows, so `drop_cursor` releases it at the end of the request.
    """
    if connection.queries_logged:  # Django then uses another class of cursor
        return connection.cursor()
    cursor = getattr(connection, _KEPT, None)
    if cursor is None or cursor.connection is not connection.connection:
        cursor = connection.cursor()
        if connection.vendor == "postgresql":
            cursor.adapters.register_loader("timestamptz", _TIMES)
        setattr(connection, _KEPT, cursor)
    return cursor


def drop_cursor(connection: Any) -> None:
    """Drops the shared cursor with what it last read."""
    vars(connection).pop(_KEPT, None)
