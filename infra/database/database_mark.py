"""Which environment a database belongs to: `migrate` writes it once, every process compares it.

A sandbox with a production database would show people's sign-in codes to anybody; production with a sandbox's
database would present identities that nobody verified.
"""

from collections.abc import Callable
from threading import Thread
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import DEFAULT_DB_ALIAS, Error, connection, connections
from django.utils import timezone

from infra.database.outages import means_no_table
from infra.models import DatabaseMark

_compared: set[tuple[str, ...]] = set()  # databases whose mark this process found to be right
_told_by: list[Callable[[Any], str]] = []


class ForeignDatabaseError(ImproperlyConfigured):
    """The database belongs to the other environment."""


def compare(connection: Any) -> None:
    """Raises ForeignDatabaseError when the mark names another environment. No mark says nothing."""
    mark = DatabaseMark.objects.using(connection.alias).values_list("environment", flat=True).first()
    if mark and mark != settings.DATABASE_MARK:
        raise ForeignDatabaseError(
            f"DATABASE_URL names a database of the {mark} environment, and ENVIRONMENT is "
            f"{settings.DATABASE_MARK}; each environment needs a database of its own."
        )
    if mark:
        _compared.add(_place(connection))


def compare_first_connection(sender: Any, connection: Any, **_: Any) -> None:
    """A receiver of `connection_created`: one SELECT per connection, until one has found the right mark.

    A connection that could not be compared must not be used: every error closes it and is raised, and the
    next connection compares. Only a missing table lets it pass, because `migrate` has to make that table.
    """
    if connection.alias != DEFAULT_DB_ALIAS or _place(connection) in _compared:
        return
    try:
        compare(connection)
    except (ForeignDatabaseError, Error) as error:
        if isinstance(error, Error) and means_no_table(error):
            return
        connection.close()  # Django keeps it otherwise, and the next statement would run
        raise


def refuse_foreign_database(*, within: float = 5) -> None:
    """Compare before the first request; raises ForeignDatabaseError.

    A database that is away or hangs must not keep the service from starting, so this waits `within` seconds
    at most; the first connection compares again.
    """
    refused: list[ForeignDatabaseError] = []
    connections[DEFAULT_DB_ALIAS]  # imports the driver, which is not to count

    def ask() -> None:
        try:
            connection.ensure_connection()
        except ForeignDatabaseError as error:
            refused.append(error)
        except Exception:  # noqa: S110 - requests meet the same error and report it
            pass
        finally:
            connection.close()

    asking = Thread(target=ask, daemon=True)
    asking.start()
    asking.join(within)
    if refused:
        raise refused[0]


def register(told_by: Callable[[Any], str]) -> None:
    """Have `told_by` asked about a database without a mark: why, by what an app keeps in it, it is foreign.

    It gets the connection and answers with half a sentence, which is empty where nothing is foreign.
    """
    _told_by.append(told_by)


def refuse_to_adopt(connection: Any) -> None:
    """For `migrate`: raises ForeignDatabaseError when a database without a mark looks like the other's."""
    tables = connection.introspection.table_names()
    if DatabaseMark._meta.db_table in tables and DatabaseMark.objects.using(connection.alias).exists():
        return  # compared when it was opened
    for told_by in _told_by:
        if reason := told_by(connection):
            raise ForeignDatabaseError(
                f"This database does not say which environment it belongs to, and {reason}. "
                f"If it belongs to {settings.DATABASE_MARK} all the same, run: manage.py migrate --adopt"
            )


def write(sender: Any, using: str, apps: Any = apps, **_: Any) -> None:
    """A receiver of `post_migrate`, which `flush` sends as well: the first environment owns the database."""
    if using != DEFAULT_DB_ALIAS:
        return
    try:
        mark = apps.get_model("infra", "DatabaseMark")
    except LookupError:  # migrated back to before there were marks
        return
    mark.objects.using(using).get_or_create(
        only=True, defaults={"environment": settings.DATABASE_MARK, "marked_at": timezone.now()}
    )


def _place(connection: Any) -> tuple[str, ...]:
    named = connection.settings_dict
    return tuple(str(named[name]) for name in ("HOST", "PORT", "NAME"))
