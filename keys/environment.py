"""What the keys in a database say about the environment that it belongs to."""

from typing import Any

from django.conf import settings

from keys.models import Authority, SigningKey


def keys_of_another(connection: Any) -> str:
    """Why a database that has no mark is not this environment's; empty where its keys do not say that.

    Only a sandbox has a certificate authority of its own in the database; it makes one at its first start.
    """
    tables = connection.introspection.table_names()
    if not {Authority._meta.db_table, SigningKey._meta.db_table} <= set(tables):
        return ""
    has_authority = Authority.objects.using(connection.alias).exists()
    has_keys = SigningKey.objects.using(connection.alias).exists()
    if not (has_authority or has_keys) or has_authority == settings.SELF_CERTIFYING_AUTHORITY:
        return ""
    return f"its keys are those of {'a sandbox' if has_authority else 'production'}"
