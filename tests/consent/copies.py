"""Many consents that look alike, so that PostgreSQL plans with the figures of a table in use."""

from collections.abc import Iterable
from typing import Any
from uuid import uuid4

from django.db import connection

from consent.models import Consent


def add_copies(like: Consent, changes: Iterable[dict[str, Any]]) -> None:
    """Add a consent for each of `changes`: it differs from `like` by its ID and by these columns."""
    columns = {field.attname: getattr(like, field.attname) for field in Consent._meta.concrete_fields}
    rows = [Consent(**columns | {"id": uuid4()} | changed) for changed in changes]
    Consent.objects.bulk_create(rows, batch_size=2000)


def analyse() -> None:
    """Count anew, as autovacuum would: without it, the plan depends on when that last ran."""
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE consent_consent")
