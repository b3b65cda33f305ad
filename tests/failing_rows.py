"""Rows that the database refuses to change, as a broken constraint or a damaged page would make it."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection
from django.db.models import Model


@contextmanager
def refusing(row: Model) -> Iterator[None]:
    """While the block runs, PostgreSQL refuses each change of the row, and names a person in the refusal."""
    table = row._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
            "$$BEGIN RAISE EXCEPTION 'the row of Petronella Quill is damaged'; END$$"
        )
        cursor.execute(
            f"CREATE TRIGGER refuse BEFORE UPDATE OR DELETE ON {table} FOR EACH ROW "
            f"WHEN (OLD.{row._meta.pk.column}::text = '{row.pk}') EXECUTE FUNCTION refuse()"
        )
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP FUNCTION refuse() CASCADE")
