"""Detects a connection pooler such as PgBouncer, and refuses one that DATABASE_POOLER does not name.

A pooler gives each client a process id of its own. In transaction mode two clients share a server connection
and the names of their prepared statements, so one client could silently get the rows of the other.
"""

from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured


def refuse_unknown_pooler(connection: Any, **_: Any) -> None:
    """A receiver of `connection_created`; raises ImproperlyConfigured for a pooler that is not configured.

    It queries each new connection that uses prepared statements once.
    """
    raw = connection.connection
    if connection.vendor != "postgresql" or settings.DATABASE_POOLER != "none":
        return
    if raw.prepare_threshold is None:
        return
    (backend,) = raw.execute("SELECT pg_backend_pid()", prepare=False).fetchone()
    if backend == raw.info.backend_pid:
        return
    connection.close()
    raise ImproperlyConfigured(
        "A pooler such as PgBouncer is between this service and PostgreSQL. Set DATABASE_POOLER to its mode, "
        "`transaction` or `session`: docs/database.md."
    )


def runs_statements_forever(connection: Any) -> bool:
    """Whether the server behind a pooler has no statement timeout; we cannot set one through the pooler."""
    if connection.vendor != "postgresql" or settings.DATABASE_POOLER == "none":
        return False
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('statement_timeout')")
        return bool(cursor.fetchone()[0] == "0")
