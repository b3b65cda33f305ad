"""Commands of the audit record, and tampering with it."""

from datetime import UTC, datetime
from io import StringIO
from typing import Any

from django.core.management import call_command
from django.db import connection

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def run(command: str, *args: Any, **options: Any) -> str:
    """What the command prints."""
    said = StringIO()
    call_command(command, *args, stdout=said, **options)
    return said.getvalue()


def tamper(statement: str) -> None:
    """Changes the record with SQL, as the owner of the database can."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("ALTER TABLE infra_auditline DISABLE TRIGGER infra_auditline_append_only")
        cursor.execute(statement)
