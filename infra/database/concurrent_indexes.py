"""Operations of migrations that build and remove indexes while the service runs.

On PostgreSQL, writers do not wait for them. SQLite of a sandbox has no such operation and does it at once.
"""

from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db.migrations import AddIndex, AlterField, RemoveIndex


class AddedConcurrently(AddIndexConcurrently):
    """Adds an index to a table that is in use."""

    def database_forwards(self, app_label: str, schema_editor: Any, before: Any, after: Any) -> None:
        add = AddIndexConcurrently if _is_postgresql(schema_editor) else AddIndex
        add.database_forwards(self, app_label, schema_editor, before, after)

    def database_backwards(self, app_label: str, schema_editor: Any, before: Any, after: Any) -> None:
        add = AddIndexConcurrently if _is_postgresql(schema_editor) else AddIndex
        add.database_backwards(self, app_label, schema_editor, before, after)


class RemovedConcurrently(RemoveIndexConcurrently):
    """Removes an index from a table that is in use."""

    def database_forwards(self, app_label: str, schema_editor: Any, before: Any, after: Any) -> None:
        remove = RemoveIndexConcurrently if _is_postgresql(schema_editor) else RemoveIndex
        remove.database_forwards(self, app_label, schema_editor, before, after)

    def database_backwards(self, app_label: str, schema_editor: Any, before: Any, after: Any) -> None:
        remove = RemoveIndexConcurrently if _is_postgresql(schema_editor) else RemoveIndex
        remove.database_backwards(self, app_label, schema_editor, before, after)


class WithoutItsIndexConcurrently(AlterField):
    """`db_index=False`: only the index of the column goes. Nobody waits for it; foreign keys stay checked."""

    def database_forwards(self, app_label: str, schema_editor: Any, before: Any, after: Any) -> None:
        model = before.apps.get_model(app_label, self.model_name)
        column = model._meta.get_field(self.name).column
        named = [index.name for index in model._meta.indexes]
        found = schema_editor._constraint_names(
            model, [column], index=True, unique=False, primary_key=False, exclude=named
        )
        for name in found:
            schema_editor.execute(f'DROP INDEX {_concurrently(schema_editor)} IF EXISTS "{name}"')

    def database_backwards(self, app_label: str, schema_editor: Any, before: Any, after: Any) -> None:
        model = after.apps.get_model(app_label, self.model_name)
        made = str(schema_editor._create_index_sql(model, fields=[model._meta.get_field(self.name)]))
        schema_editor.execute(made.replace("INDEX", f"INDEX {_concurrently(schema_editor)}", 1))


def _concurrently(schema_editor: Any) -> str:
    return "CONCURRENTLY" if _is_postgresql(schema_editor) else ""


def _is_postgresql(schema_editor: Any) -> bool:
    return bool(schema_editor.connection.vendor == "postgresql")
