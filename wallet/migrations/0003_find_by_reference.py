"""The index by which a callback finds its attempt."""

from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class AddIndexConcurrentlyWherePossible(AddIndexConcurrently):
    """SQLite, which only sandboxes use, builds no index concurrently."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        if schema_editor.connection.vendor == "postgresql":
            super().database_forwards(app_label, schema_editor, from_state, to_state)
        else:
            migrations.AddIndex.database_forwards(self, app_label, schema_editor, from_state, to_state)


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("wallet", "0002_identity_providers")]

    operations = [
        AddIndexConcurrentlyWherePossible(
            model_name="identityverification",
            index=models.Index(fields=["provider_reference"], name="wallet_verification_reference"),
        )
    ]
