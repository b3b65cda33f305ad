"""Empties the database after a test that committed: only tables with rows, and without signals.

Django's own `flush` empties every table and then creates all permissions and groups again, which takes
longer than most tests. The rows of the migrations stay, or are restored after a test that changed them.
"""

from typing import Any

from django.apps import apps
from django.contrib.contenttypes.models import ContentType
from django.core.management.color import no_style
from django.db import connection, transaction
from django.test import TransactionTestCase

_tables: list[str] = []
_as_migrated: dict[str, list[tuple[Any, ...]]] = {}


def begin() -> None:
    """Store the content of the migrated database, and replace Django's `flush`."""
    if connection.vendor == "postgresql" and not _superuser():
        return  # without the right to turn constraints off, use Django's `flush`
    _tables[:] = sorted(connection.introspection.django_table_names(only_existing=True, include_views=False))
    _as_migrated.update({table: _rows(table) for table in _with_rows()})
    TransactionTestCase._fixture_teardown = lambda _: empty()
    # Django would connect again after each test, and a new server process reads the catalogue of all tables.
    TransactionTestCase._should_reload_connections = lambda _: False


def empty() -> None:
    """Leave the rows of the migrations and no others."""
    with connection.constraint_checks_disabled(), transaction.atomic(), connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET LOCAL session_replication_role = replica")  # no constraints
            # Wait for threads of the test that still write, as TRUNCATE would.
            cursor.execute(f"LOCK TABLE {', '.join(map(_quoted, _tables))} IN SHARE ROW EXCLUSIVE MODE")
        found = set(_with_rows())
        for table in found - set(_as_migrated):
            cursor.execute(f"DELETE FROM {_quoted(table)}")
        for table, rows in _as_migrated.items():
            if table not in found or _rows(table) != rows:
                _put_back(cursor, table, rows)


def _put_back(cursor: Any, table: str, rows: list[tuple[Any, ...]]) -> None:
    cursor.execute(f"DELETE FROM {_quoted(table)}")
    places = ", ".join(["%s"] * len(rows[0]))
    cursor.executemany(f"INSERT INTO {_quoted(table)} VALUES ({places})", rows)
    # A `flush` in a test resets the ids to 1 and creates content types with other ids.
    models = [model for model in apps.get_models(include_auto_created=True) if model._meta.db_table == table]
    for statement in connection.ops.sequence_reset_sql(no_style(), models):
        cursor.execute(statement)
    ContentType.objects.clear_cache()


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
