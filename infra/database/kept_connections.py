"""Keeps the database connection from one request to the next, and drops one that the server has closed.

Django's CONN_HEALTH_CHECKS queries the server before each request, which costs a round trip each time. A
closed connection can be recognised without a query: its socket is readable although nothing was asked.

Behind a pooler such as PgBouncer this shows nothing, because the pooler keeps our connection open when the
server has closed its own. The next statement then waits in the pooler; `hung_database` ends that wait.
"""

import select
from typing import Any

import psycopg
from django.core.cache import close_caches
from django.core.handlers.base import reset_urlconf
from django.core.signals import request_finished, request_started
from django.db import DEFAULT_DB_ALIAS, close_old_connections, connections, reset_queries

from infra.database import hung_database, internals


def receive_signals() -> None:
    """Lets `before_request` and `after_request` do the work of Django's receivers.

    Django's look for the connections of every database and cache of the thread: 400 calls in a presentation.
    The service has one database, no cache with connections, one URLconf, and no log of queries.
    """
    request_started.disconnect(reset_queries)
    request_started.disconnect(close_old_connections)
    request_started.connect(before_request)
    for receiver in (close_caches, close_old_connections, reset_urlconf):
        request_finished.disconnect(receiver)
    request_finished.connect(after_request)


def before_request(**_: Any) -> None:
    """Closes the connection of this thread if it is too old, or the server has closed it."""
    connection = connections[DEFAULT_DB_ALIAS]
    if not connection.in_atomic_block:  # as only that of a test is between two requests
        connection.close_if_unusable_or_obsolete()
        _close_if_dead(connection)


def after_request(**_: Any) -> None:
    """Forgets what was read, closes the connection after a failure, and ends the limit of its waits."""
    connection = connections[DEFAULT_DB_ALIAS]
    drop_cursor(connection)
    if not connection.in_atomic_block:
        connection.close_if_unusable_or_obsolete()  # may query the database
    hung_database.end()


def _close_if_dead(connection: Any) -> None:
    """Closes the connection if the server has closed it."""
    kept = connection.vendor == "postgresql" and connection.connection
    if kept and _has_news(connection.connection) and not connection.is_usable():
        connection.close()


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
    if (
        not internals.DJANGO_IS_KNOWN_TO_WORK or connection.queries_logged
    ):  # Django then uses another class of cursor
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
