"""Indexes by which `clear_expired` finds identities, checks and recoveries, built while the service runs."""

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
        ('wallet', '0011_status_words'),
    ]

    operations = [
        AddedConcurrently(
            model_name='statusentry',
            index=models.Index(condition=models.Q(('expires_at', None)), fields=['status_list', 'idx'], name='wallet_status_entries_blank'),
        ),
        AddedConcurrently(
            model_name='credential',
            index=models.Index(condition=models.Q(('erased_at', None)), fields=['expires_at'], name='wallet_identities_to_erase'),
        ),
        AddedConcurrently(
            model_name='credential',
            index=models.Index(condition=models.Q(('erased_at', None), ('state', 'revoked')), fields=['revoked_at'], name='wallet_revoked_to_erase'),
        ),
        AddedConcurrently(
            model_name='credential',
            index=models.Index(condition=models.Q(('erased_at__isnull', False)), fields=['erased_at'], name='wallet_identities_erased'),
        ),
        AddedConcurrently(
            model_name='identityverification',
            index=models.Index(fields=['changed_at'], name='wallet_verification_oldest'),
        ),
        AddedConcurrently(
            model_name='recovery',
            index=models.Index(condition=models.Q(('state', 'asked')), fields=['asked_at'], name='wallet_recoveries_asked'),
        ),
        AddedConcurrently(
            model_name='recovery',
            index=models.Index(condition=models.Q(('ended_at__isnull', False)), fields=['ended_at'], name='wallet_recoveries_ended'),
        ),
    ]
