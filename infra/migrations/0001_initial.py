from django.db import migrations, models


class CreateModelUnlessThere(migrations.CreateModel):
    """A database of version 0.1 has these tables: the apps that these models were in have made them."""

    def database_forwards(self, app_label, schema_editor, from_state, to_state):
        table = to_state.apps.get_model(app_label, self.name)._meta.db_table
        if table not in schema_editor.connection.introspection.table_names():
            super().database_forwards(app_label, schema_editor, from_state, to_state)


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        CreateModelUnlessThere(
            name='Allowance',
            fields=[
                ('key', models.CharField(editable=False, max_length=64, primary_key=True, serialize=False)),
                ('count', models.PositiveIntegerField(editable=False)),
                ('expires_at', models.DateTimeField(db_index=True, editable=False)),
            ],
            options={
                'db_table': 'wallet_allowance',
                'default_permissions': [],
            },
        ),
    ]
