"""Columns for the sealed content of transactions. Instant on a table of any size.

On PostgreSQL the constraint is added without looking at the rows that are there; the next migration does that
without keeping anybody from the table.
"""

from django.db import migrations, models
from django.db.models import Q


class AddConstraintNotValid(migrations.AddConstraint):
    """As AddConstraint; on PostgreSQL for rows that are written from now on."""

    def database_forwards(self, app_label, schema_editor, from_state, to_state):
        if schema_editor.connection.vendor != "postgresql":
            super().database_forwards(app_label, schema_editor, from_state, to_state)
            return
        model = to_state.apps.get_model(app_label, self.model_name)
        statement = self.constraint.create_sql(model, schema_editor)
        schema_editor.execute(f"{statement} NOT VALID", params=None)


class Migration(migrations.Migration):
    dependencies = [("consent", "0003_names_of_fields")]

    operations = [
        migrations.AddField(
            model_name="consent",
            name="sealed_transactions",
            field=models.BinaryField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="consent",
            name="erased_at",
            field=models.DateTimeField(editable=False, null=True, verbose_name="transactions erased"),
        ),
        AddConstraintNotValid(
            model_name="consent",
            constraint=models.CheckConstraint(
                condition=Q(erased_at=None) | Q(sealed_transactions=None),
                name="consent_erased_transactions_are_gone",
            ),
        ),
    ]
