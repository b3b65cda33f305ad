"""The cursor that the prepared statements of a request share."""

from typing import Any

import psycopg

from infra.database import internals

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
