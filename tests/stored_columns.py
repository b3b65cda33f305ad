"""The columns of the database in which a text is stored."""

from typing import Any

from django.apps import apps
from django.db import connection


def columns_that_hold(text: str) -> set[tuple[str, str]]:
    """Every column of every table with this text, whatever its type."""
    found = set()
    with connection.cursor() as cursor:
        for model in apps.get_models():
            for field in model._meta.concrete_fields:
                cursor.execute(f'SELECT "{field.column}" FROM "{model._meta.db_table}"')  # noqa: S608
                if any(text in _text(value) for (value,) in cursor.fetchall()):
                    found.add((model._meta.label, field.name))
    return found


def _text(value: Any) -> str:
    return bytes(value).decode("latin-1") if isinstance(value, memoryview | bytes) else str(value)
