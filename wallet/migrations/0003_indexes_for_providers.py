"""Indexes by which callbacks and the sweep find attempts, built while the service runs."""

from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class AddedConcurrently(AddIndexConcurrently):
    """Writers do not wait for it on PostgreSQL; a sandbox's SQLite builds it at once."""

    def database_forwards(self, app_label: str, schema_editor: Any, before: Any, after: Any) -> None:
        if schema_editor.connection.vendor == 'postgresql':
            super().database_forwards(app_label, schema_editor, before, after)
        else:
            migrations.AddIndex.database_forwards(self, app_label, schema_editor, before, after)

    def database_backwards(self, app_label: str, schema_editor: Any, before: Any, after: Any) -> None:
        if schema_editor.connection.vendor == 'postgresql':
            super().database_backwards(app_label, schema_editor, before, after)
        else:
            migrations.AddIndex.database_backwards(self, app_label, schema_editor, before, after)


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('wallet', '0002_identity_providers'),
    ]

    operations = [
        AddedConcurrently(
            model_name='identityverification',
            index=models.Index(fields=['provider', 'provider_reference'], name='wallet_verification_reference'),
        ),
        AddedConcurrently(
            model_name='identityverification',
            index=models.Index(condition=models.Q(('kept_by_provider', True)), fields=['id'], name='wallet_verification_kept_away'),
        ),
    ]
