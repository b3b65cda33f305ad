"""Operations of migrations that build and remove indexes while the service runs.

On PostgreSQL, writers do not wait for them. SQLite of a sandbox has no such operation and does it at once.
"""

from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db.migrations import AddIndex, RemoveIndex


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


def _is_postgresql(schema_editor: Any) -> bool:
    return bool(schema_editor.connection.vendor == "postgresql")
