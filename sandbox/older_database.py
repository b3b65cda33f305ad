"""A sandbox's database of before version 0.2.0, in which two apps kept what `sandbox` keeps now."""

from typing import Any

from django.core.management.base import CommandError
from django.db import connections

TABLES = {"presentation_sandbox_selfregistration", "wallet_sandbox_letter"}


def refuse(sender: Any, using: str, **_: Any) -> None:
    """A receiver of `pre_migrate`; raises CommandError. Nothing in a sandbox is worth a migration."""
    if TABLES & set(connections[using].introspection.table_names()):
        raise CommandError(
            "This sandbox's database was made by an older version. Start over with: make sandbox FRESH=1 "
            "(or drop the database that DATABASE_URL names, and make it anew)."
        )
