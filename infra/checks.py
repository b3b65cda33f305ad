"""System checks of the database and of files, most of them only in `manage.py check --deploy`."""

from collections.abc import Callable
from typing import Any, TypeVar

from django.conf import settings
from django.core.checks import CheckMessage, Error, Info, Tags, Warning, register
from django.core.exceptions import ImproperlyConfigured
from django.db import DEFAULT_DB_ALIAS, connection, connections, transaction
from django.db import Error as DatabaseError

from infra import named_files
from infra.database.database_mark import ForeignDatabaseError, compare
from infra.database.outages import means_away, means_no_table
from infra.database.poolers import runs_statements_forever

Row = TypeVar("Row")


@register()
def file_variables(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Names variables …_FILE that nothing reads: the setting has no such form, or the name is misspelt."""
    message = "{} is set, and there is no such variable: docs/settings.md lists them."
    return [Warning(message.format(name), id="infra.W004") for name in settings.FILE_VARIABLES_NOT_READ]


@register(Tags.security, deploy=True)
def files(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """The user of this process can read every file that a setting names. Run it as the service's user."""
    hint = "Let that user read it with chown or chmod; a folder on the way with chmod o+x."
    return [Error(text, hint=hint, id="infra.E004") for text in named_files.faults(only_reading=True)]


@register(Tags.security, deploy=True)
def database_mark(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """The database belongs to this environment. Queries the database, if there is one."""
    try:
        with transaction.atomic():
            compare(connection)
    except ForeignDatabaseError as error:
        return [Error(str(error), id="infra.E001")]
    except ImproperlyConfigured:
        return []  # other checks report it
    except DatabaseError as error:
        if means_away(error):
            return []  # other checks report it
        if means_no_table(error):
            return [Info("The database has no tables yet.", hint="Run manage.py migrate.", id="infra.I003")]
        return [
            Error(f"The environment that the database belongs to cannot be read: {error}", id="infra.E002")
        ]
    return []


@register(Tags.security)
def pooler_options(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """DATABASE_URL fits DATABASE_POOLER. Reads the settings only."""
    if settings.DATABASE_POOLER == "none" or "options" not in settings.DATABASES["default"].get(
        "OPTIONS", {}
    ):
        return []
    message = "DATABASE_URL has options, which PgBouncer refuses or silently drops."
    hint = "Set them in the database: ALTER ROLE … IN DATABASE … SET …; docs/database.md."
    return [Warning(message, hint=hint, id="infra.W001")]


@register(Tags.security, deploy=True)
def pooler(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """DATABASE_POOLER fits, and limits that cannot be sent through a pooler are set in the database."""
    messages: list[CheckMessage] = []
    try:
        connections[DEFAULT_DB_ALIAS].ensure_connection()  # `poolers` checks each new connection
        if runs_statements_forever(connections[DEFAULT_DB_ALIAS]):
            message = "DATABASE_POOLER is set, and the database has no statement_timeout."
            hint = "ALTER ROLE … IN DATABASE … SET statement_timeout = '5s'; docs/database.md."
            messages.append(Warning(message, hint=hint, id="infra.W002"))
    except ForeignDatabaseError:
        pass  # `database_mark` reports it
    except ImproperlyConfigured as error:
        if settings.DATABASES["default"]:
            messages.append(Error(str(error), id="infra.E003"))
    except DatabaseError:
        pass  # other checks report it
    return messages


def from_database(query: Callable[[], list[Row]]) -> list[Row] | None:
    """The result of a query; None if there is no database or no table, which other checks report."""
    try:
        with transaction.atomic():
            return query()
    except (DatabaseError, ImproperlyConfigured):
        return None
