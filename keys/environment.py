"""Tells from its keys to which environment a database belongs."""

from typing import Any

from django.conf import settings

from keys.models import Authority, SigningKey


def keys_of_another(connection: Any) -> str:
    """Why a database without a mark does not belong to this environment; empty if its keys do not show that.

    Only a sandbox keeps a certificate authority in the database; it makes one at its first start.
    """
    tables = connection.introspection.table_names()
    if not {Authority._meta.db_table, SigningKey._meta.db_table} <= set(tables):
        return ""
    has_authority = Authority.objects.using(connection.alias).exists()
    has_keys = SigningKey.objects.using(connection.alias).exists()
    if not (has_authority or has_keys) or has_authority == settings.SELF_CERTIFYING_AUTHORITY:
        return ""
    return f"its keys are those of {'a sandbox' if has_authority else 'production'}"
