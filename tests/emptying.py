"""Empties the database after a test that committed: only the tables that have rows, and without a signal.

Django's own `flush` empties every table, and then makes the permissions and groups of its apps anew. That
takes longer than most of the tests do. What the migrations wrote stays, or is put back after a test
that changed it.
"""

from typing import Any

from django.db import connection, transaction
from django.test import TransactionTestCase

_tables: list[str] = []
_as_migrated: dict[str, list[tuple[Any, ...]]] = {}


def begin() -> None:
    """Remember the database as it is now, newly migrated, and empty it in this way from now on."""
    if connection.vendor == "postgresql" and not _superuser():
        return  # who may not turn constraints off leaves it to Django
    _tables[:] = sorted(connection.introspection.django_table_names(only_existing=True, include_views=False))
    _as_migrated.update({table: _rows(table) for table in _with_rows()})
    TransactionTestCase._fixture_teardown = lambda _: empty()


def empty() -> None:
    """Leave the rows of the migrations and no others."""
    with connection.constraint_checks_disabled(), transaction.atomic(), connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET LOCAL session_replication_role = replica")  # no constraints
            # A thread that outlives its test may still write: wait for it, as TRUNCATE would.
            cursor.execute(f"LOCK TABLE {', '.join(map(_quoted, _tables))} IN SHARE ROW EXCLUSIVE MODE")
        found = {table: _rows(table) if table in _as_migrated else [] for table in _with_rows()}
        for table in {*found, *_as_migrated}:
            rows = _as_migrated.get(table, [])
            if rows and rows == found.get(table):
                continue
            cursor.execute(f"DELETE FROM {_quoted(table)}")
            if rows:
                places = ", ".join(["%s"] * len(rows[0]))
                cursor.executemany(f"INSERT INTO {_quoted(table)} VALUES ({places})", rows)


def _quoted(table: str) -> str:
    return connection.ops.quote_name(table)


def _superuser() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
        return cursor.fetchone() == (True,)


def _with_rows() -> list[str]:
    questions = [f"SELECT '{table}' WHERE EXISTS (SELECT 1 FROM {_quoted(table)})" for table in _tables]
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(questions))
        return [table for (table,) in cursor.fetchall()]


def _rows(table: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {_quoted(table)} ORDER BY 1")
        return cursor.fetchall()
