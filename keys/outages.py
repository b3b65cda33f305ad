"""Whether an error means that the database is away, so that the same request may succeed a moment later."""

import sqlite3

from django.db import Error, InterfaceError, OperationalError

# PostgreSQL reports these two as internal errors. 25006: the server only reads, as a standby does until it is
# promoted. 25P03: the server ended a connection whose transaction was left idle.
_ALSO_AWAY = ("25006", "25P03")


def means_away(error: BaseException | None) -> bool:
    """True for a refused, broken or timed-out connection, false for a mistake in a statement or its data."""
    if not isinstance(error, Error):
        return False
    driver = error.__cause__
    if isinstance(driver, sqlite3.Error):
        # SQLite has one class for a locked file and for a table that does not exist.
        code = getattr(driver, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
        return isinstance(error, OperationalError) and code != sqlite3.SQLITE_ERROR
    if getattr(driver, "sqlstate", None) in _ALSO_AWAY:
        return True
    return isinstance(error, OperationalError | InterfaceError)
