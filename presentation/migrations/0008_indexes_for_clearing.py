"""Indexes by which `clear_expired` finds interactions, in place of one that has all of them."""

from typing import Any

import django.db.models.deletion
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


class WithoutItsIndexConcurrently(migrations.AlterField):
    """`db_index=False`: only the index of the column goes. Nobody waits for it, and foreign keys stay checked."""

    def database_forwards(self, app_label: str, schema_editor: Any, before: Any, after: Any) -> None:
        model = before.apps.get_model(app_label, self.model_name)
        column = model._meta.get_field(self.name).column
        named = [index.name for index in model._meta.indexes]
        found = schema_editor._constraint_names(
            model, [column], index=True, unique=False, primary_key=False, exclude=named
        )
        for name in found:
            schema_editor.execute(f'DROP INDEX {self._concurrently(schema_editor)} IF EXISTS "{name}"')

    def database_backwards(self, app_label: str, schema_editor: Any, before: Any, after: Any) -> None:
        model = after.apps.get_model(app_label, self.model_name)
        made = str(schema_editor._create_index_sql(model, fields=[model._meta.get_field(self.name)]))
        schema_editor.execute(made.replace('INDEX', f'INDEX {self._concurrently(schema_editor)}', 1))

    def _concurrently(self, schema_editor: Any) -> str:
        return 'CONCURRENTLY' if schema_editor.connection.vendor == 'postgresql' else ''


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('presentation', '0007_self_registered'),
    ]

    operations = [
        AddedConcurrently(
            model_name='interaction',
            index=models.Index(condition=models.Q(('outcome', 'token'), _negated=True), fields=['expires_at'], name='presentation_requests_ended'),
        ),
        AddedConcurrently(
            model_name='interaction',
            index=models.Index(condition=models.Q(('outcome', 'token')), fields=['expires_at'], name='presentation_nonces_by_expiry'),
        ),
        AddedConcurrently(
            model_name='interaction',
            index=models.Index(condition=models.Q(('errand__isnull', False)), fields=['errand'], name='presentation_requests_sent_on'),
        ),
        AddedConcurrently(
            model_name='webhooksecret',
            index=models.Index(condition=models.Q(('ends_at__isnull', False)), fields=['ends_at'], name='presentation_secrets_ending'),
        ),
        WithoutItsIndexConcurrently(
            model_name='interaction',
            name='expires_at',
            field=models.DateTimeField(editable=False, verbose_name='open until'),
        ),
        WithoutItsIndexConcurrently(
            model_name='interaction',
            name='errand',
            field=models.ForeignKey(db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, to='wallet.errand'),
        ),
    ]
