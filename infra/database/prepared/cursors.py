"""The cursor that the prepared statements of a request share."""

from typing import Any

import psycopg
from django.db import connections

from infra.database import internals

_KEPT = "_kept_cursor"  # an attribute of Django's connection, which belongs to one thread
# psycopg's own loader, in C where that is installed; Django's is in Python, to allow a zone for each cursor.
_TIMES = psycopg.adapters.get_loader(psycopg.adapters.types["timestamptz"].oid, psycopg.pq.Format.TEXT)


def kept_cursor(connection: Any) -> Any:
    """The cursor that all statements of a request share: fetch all rows before the next `execute`.

    A new cursor determines anew how each type is written and read, which takes longer than a short query.
    The cursor remembers its last query and rows, so `drop_cursors` releases it at the end of the request.
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


def drop_cursors(**_: Any) -> None:
    """Drops this thread's cursors with what they last read; a receiver of `request_finished`."""
    for connection in connections.all(initialized_only=True):
        connection.__dict__.pop(_KEPT, None)
