"""What an error of the database means: that it is away for now, or that it has no tables yet."""

import sqlite3

from django.db import Error, InterfaceError, OperationalError

# PostgreSQL reports these two as internal errors. 25006: the server only reads, as a standby does until it is
# promoted. 25P03: the server ended a connection whose transaction was left idle.
_ALSO_AWAY = ("25006", "25P03")
_UNDEFINED_TABLE = "42P01"


def means_away(error: BaseException | None) -> bool:
    """Whether the same request may succeed a moment later.

    True for a refused, broken or timed-out connection, false for a mistake in a statement or its data.
    """
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


def means_no_table(error: Error) -> bool:
    """Whether a table does not exist, as before `migrate`."""
    driver = error.__cause__
    if isinstance(driver, sqlite3.Error):  # which has no code of its own for that
        return str(driver).startswith("no such table")
    return getattr(driver, "sqlstate", None) == _UNDEFINED_TABLE
