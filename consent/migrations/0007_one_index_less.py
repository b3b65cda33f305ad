"""The index of consents by wallet goes: another index begins with the wallet too."""

from typing import Any

import django.db.models.deletion
from django.db import migrations, models


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
        ('consent', '0006_without_a_person'),
    ]

    operations = [
        WithoutItsIndexConcurrently(
            model_name='consent',
            name='wallet',
            field=models.ForeignKey(db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='consents', to='wallet.wallet'),
        ),
    ]
