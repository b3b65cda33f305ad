"""The meaning of a database error: the database is away for now, or a table is missing."""

import sqlite3

import psycopg
from django.db import Error, InterfaceError, OperationalError

# PostgreSQL reports these two as internal errors. 25006: the server is read-only, as a standby is until its
# promotion. 25P03: the server closed a connection whose transaction was idle.
_ALSO_AWAY = ("25006", "25P03")
_UNDEFINED_TABLE = "42P01"


def means_away(error: BaseException | None) -> bool:
    """Whether the same request may succeed a moment later.

    True for a refused, broken or timed-out connection; False for an error in a statement or its data.
    """
    if not isinstance(error, Error):
        return False
    driver = error.__cause__
    if isinstance(driver, sqlite3.Error):
        # SQLite raises the same class for a locked file and for a missing table.
        code = getattr(driver, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
        return isinstance(error, OperationalError) and code != sqlite3.SQLITE_ERROR
    lost = isinstance(error, OperationalError | InterfaceError)
    return lost or (isinstance(driver, psycopg.Error) and driver.sqlstate in _ALSO_AWAY)


def means_no_table(error: Error) -> bool:
    """Whether a table is missing, as before `migrate`."""
    driver = error.__cause__
    if isinstance(driver, sqlite3.Error):  # SQLite has no error code for it
        return str(driver).startswith("no such table")
    return isinstance(driver, psycopg.Error) and driver.sqlstate == _UNDEFINED_TABLE
