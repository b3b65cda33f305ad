"""The index that finds transactions whose retention time has ended, built while the service writes.

If it is interrupted, run `migrate` again: what is half there is dropped first.
"""

from django.db import migrations, models
from django.db.models import Q

CONSTRAINT = "consent_erased_transactions_are_gone"


class AddIndexConcurrently(migrations.AddIndex):
    """As AddIndex; on PostgreSQL without keeping anybody from writing to the table."""

    atomic = False

    def database_forwards(self, app_label, schema_editor, from_state, to_state):
        if schema_editor.connection.vendor != "postgresql":
            super().database_forwards(app_label, schema_editor, from_state, to_state)
            return
        model = to_state.apps.get_model(app_label, self.model_name)
        schema_editor.execute(f"DROP INDEX IF EXISTS {schema_editor.quote_name(self.index.name)}")
        schema_editor.add_index(model, self.index, concurrently=True)


def validate(apps, schema_editor):
    """Look at the rows that were there before the constraint (PostgreSQL)."""
    if schema_editor.connection.vendor == "postgresql":
        table = schema_editor.quote_name(apps.get_model("consent", "Consent")._meta.db_table)
        schema_editor.execute(f"ALTER TABLE {table} VALIDATE CONSTRAINT {CONSTRAINT}")


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("consent", "0004_sealed_transactions")]

    operations = [
        AddIndexConcurrently(
            model_name="consent",
            index=models.Index(
                fields=["asked_at"],
                condition=Q(sealed_transactions__isnull=False),
                name="consent_transactions_by_age",
            ),
        ),
        migrations.RunPython(validate, migrations.RunPython.noop),
    ]
