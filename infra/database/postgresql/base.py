"""The PostgreSQL backend: Django's, with connections that do not wait for ever (ENGINE of `DATABASES`).

Django's documentation calls this "Subclassing the built-in database backends".
"""

from typing import Any

from django.db.backends.postgresql import base

from infra.database import hung_database
from infra.database.postgresql import driver


class DatabaseWrapper(base.DatabaseWrapper):
    """Opens the connections of `hung_database`, and none while it refuses to."""

    Database = driver

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        return hung_database.connected(super().get_new_connection, conn_params)
