"""Refuses a sandbox's database of version 0.1, in which two other apps had the tables of `sandbox`."""

from typing import Any

from django.core.management.base import CommandError
from django.db import connections

TABLES = {"presentation_sandbox_selfregistration", "wallet_sandbox_letter"}


def refuse(sender: Any, using: str, **_: Any) -> None:
    """A receiver of `pre_migrate`. Raises CommandError: nothing in a sandbox justifies a migration."""
    if TABLES & set(connections[using].introspection.table_names()):
        raise CommandError(
            "This sandbox's database was made by an older version. Start over with: make sandbox FRESH=1 "
            "(or drop the database that DATABASE_URL names, and make it anew)."
        )
