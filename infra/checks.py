"""What must be right about the database before the service starts: told by `manage.py check --deploy`."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Info, Tags, Warning, register
from django.core.exceptions import ImproperlyConfigured
from django.db import DEFAULT_DB_ALIAS, connection, connections, transaction
from django.db import Error as DatabaseError

from infra.database import internals
from infra.database.database_mark import ForeignDatabaseError, compare
from infra.database.outages import means_away, means_no_table
from infra.database.poolers import runs_statements_forever


@register(Tags.database)
def django_version(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Whether every statement is as fast as it can be.

    Told and no more: the service answers as it should, and `deploy/systemd` starts it only without warnings.
    """
    return [Info(told, id="infra.I001")] if (told := internals.what_is_slower()) else []


@register(Tags.security, deploy=True)
def database_mark(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """The database belongs to this environment. Looks into the database, if there is one."""
    try:
        with transaction.atomic():
            compare(connection)
    except ForeignDatabaseError as error:
        return [Error(str(error), id="infra.E001")]
    except ImproperlyConfigured:
        return []  # the others say so
    except DatabaseError as error:
        if means_away(error) or means_no_table(error):
            return []  # the others say so, or `migrate` has yet to write the mark
        return [
            Error(f"The environment that the database belongs to cannot be read: {error}", id="infra.E002")
        ]
    return []


@register(Tags.security, deploy=True)
def pooler(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """DATABASE_POOLER names the pooler, and what cannot be sent through it is set in the database."""
    found: list[CheckMessage] = []
    if settings.DATABASE_POOLER != "none" and "options" in settings.DATABASES["default"].get("OPTIONS", {}):
        message = "DATABASE_URL has options, which PgBouncer refuses, or drops without a word."
        hint = "Set them in the database: ALTER ROLE … IN DATABASE … SET …; docs/operate.md."
        found.append(Warning(message, hint=hint, id="infra.W001"))
    try:
        connections[DEFAULT_DB_ALIAS].ensure_connection()  # `poolers` looks at each new one
        if runs_statements_forever(connections[DEFAULT_DB_ALIAS]):
            message = "DATABASE_POOLER is set, and the database has no statement_timeout."
            hint = "ALTER ROLE … IN DATABASE … SET statement_timeout = '5s'; docs/operate.md."
            found.append(Warning(message, hint=hint, id="infra.W002"))
    except ForeignDatabaseError:
        pass  # `database_mark` says so
    except ImproperlyConfigured as error:
        if settings.DATABASES["default"]:
            found.append(Error(str(error), id="infra.E003"))
    except DatabaseError:
        pass  # the others say so
    return found
