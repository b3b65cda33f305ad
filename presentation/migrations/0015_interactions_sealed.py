"""The index that finds the few interactions with sealed transaction data, built while the service writes.

If it is interrupted, run `migrate` again: what is half there is dropped first.
"""

from django.db import migrations, models
from django.db.models import Q


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


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("presentation", "0014_sealed_transaction_data")]

    operations = [
        AddIndexConcurrently(
            model_name="interaction",
            index=models.Index(
                fields=["id"],
                condition=Q(sealed_transaction_data__isnull=False),
                name="presentation_sealed_requests",
            ),
        ),
    ]
