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
        CreateModelUnlessThere(
            name='DatabaseMark',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('environment', models.CharField(editable=False, max_length=10, verbose_name='environment')),
                ('marked_at', models.DateTimeField(editable=False, verbose_name='marked')),
                ('only', models.BooleanField(default=True, editable=False)),
            ],
            options={
                'db_table': 'keys_databasemark',
                'verbose_name': 'database mark',
                'verbose_name_plural': 'database marks',
                'default_permissions': [],
                'constraints': [models.UniqueConstraint(fields=('only',), name='keys_one_database_mark'), models.CheckConstraint(condition=models.Q(('only', True)), name='keys_database_mark_is_the_only'), models.CheckConstraint(condition=models.Q(('environment__in', ['sandbox', 'production'])), name='keys_database_mark_known')],
            },
        ),
    ]
