"""The mark of the environment that a database belongs to: `migrate` writes it, every process compares it.

A sandbox with a production database would show people's sign-in codes to the public; production with a
sandbox database would present identities that nobody verified.
"""

from contextlib import closing
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import DEFAULT_DB_ALIAS, Error, connection, connections
from django.utils import timezone

from infra.database.outages import means_no_table
from infra.in_time import in_time
from infra.models import DatabaseMark

_compared: set[tuple[str, ...]] = set()  # databases whose mark this process has found to be right


class ForeignDatabaseError(ImproperlyConfigured):
    """The database belongs to the other environment."""


def compare(connection: Any) -> None:
    """Raises ForeignDatabaseError when the mark names another environment. A missing mark is accepted."""
    mark = DatabaseMark.objects.using(connection.alias).values_list("environment", flat=True).first()
    if mark and mark != settings.DATABASE_MARK:
        raise ForeignDatabaseError(
            f"DATABASE_URL names a database of the {mark} environment, and ENVIRONMENT is "
            f"{settings.DATABASE_MARK}; each environment needs a database of its own."
        )
    if mark:
        _compared.add(_location(connection))


def compare_first_connection(sender: Any, connection: Any, **_: Any) -> None:
    """A receiver of `connection_created`: compares the mark of each connection until one has the right mark.

    A connection whose mark cannot be read must not be used, so every error closes it and is raised. Only a
    missing table is accepted, because `migrate` has to make it.
    """
    if connection.alias != DEFAULT_DB_ALIAS or _location(connection) in _compared:
        return
    try:
        compare(connection)
    except (ForeignDatabaseError, Error) as error:
        if not (isinstance(error, Error) and means_no_table(error)):
            connection.close()  # Django would keep it, and run the next statement on it
            raise


def refuse_foreign_database(*, within: float = 5) -> None:
    """Compares the mark before the first request; raises ForeignDatabaseError.

    Waits at most `within` seconds, because the service must start even while the database is away or hangs;
    the first connection compares again.
    """
    connections[DEFAULT_DB_ALIAS]  # imports the driver outside the time limit

    def connect() -> None:
        with closing(connection):
            connection.ensure_connection()

    try:
        in_time(connect, within)
    except ForeignDatabaseError:
        raise
    except Exception:  # noqa: S110 - requests meet the same error and report it
        pass


def write(sender: Any, using: str, apps: Any = apps, **_: Any) -> None:
    """A receiver of `post_migrate`, which `flush` sends too: marks a database that has no mark."""
    if using != DEFAULT_DB_ALIAS:
        return
    try:
        mark = apps.get_model("infra", "DatabaseMark")
    except LookupError:  # migrated back to a state without the table
        return
    mark.objects.using(using).get_or_create(
        only=True, defaults={"environment": settings.DATABASE_MARK, "marked_at": timezone.now()}
    )


def _location(connection: Any) -> tuple[str, ...]:
    return tuple(str(connection.settings_dict[name]) for name in ("HOST", "PORT", "NAME"))
