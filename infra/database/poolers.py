"""A connection pooler such as PgBouncer: one that the settings do not know about is refused.

Poolers give each client a process id of their own making. In transaction mode two clients share a server
connection, and with it the names of their prepared statements: one of them silently gets rows of the other.
"""

from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured


def is_behind_pooler(raw: Any) -> bool:
    """Whether the server knows this psycopg connection under another process id than the client does."""
    row = raw.execute("SELECT pg_backend_pid()", prepare=False).fetchone()
    return bool(row[0] != raw.info.backend_pid)


def refuse_unknown_pooler(connection: Any, **_: Any) -> None:
    """A receiver of `connection_created`; asks once per connection, and only where a swap is possible."""
    raw = connection.connection
    if connection.vendor != "postgresql" or settings.DATABASE_POOLER != "none":
        return
    if raw.prepare_threshold is None or not is_behind_pooler(raw):
        return
    connection.close()
    raise ImproperlyConfigured(
        "A pooler such as PgBouncer is between this service and PostgreSQL. Set DATABASE_POOLER to its mode, "
        "`transaction` or `session`: docs/operate.md."
    )


def runs_statements_forever(connection: Any) -> bool:
    """Whether the server behind a pooler ends no statement: through one we cannot send it a limit of ours."""
    if connection.vendor != "postgresql" or settings.DATABASE_POOLER == "none":
        return False
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('statement_timeout')")
        return bool(cursor.fetchone()[0] == "0")
