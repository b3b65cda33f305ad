"""Finds operations of a migration that would break the previous version, which still runs during an update.

A migration may add: tables, columns that may be empty or have a default in the database (`db_default`),
longer texts. What takes something away, or demands more of what is written, is a contraction. It waits for
the release after the one whose code stopped using it, and its file names that release: `contracts = "0.2.0"`.

An index on a table that exists already is built concurrently, because writers would wait for it otherwise.
State operations touch no table, so they are not read. `RunPython` cannot be read: see to it in review.
"""

import re
from collections.abc import Iterator
from typing import Any

from django.db import migrations, models
from django.db.migrations.operations.base import Operation
from django.db.migrations.operations.models import AlterTogetherOptionOperation

CONTRACTING = (
    migrations.RemoveField,
    migrations.RenameField,
    migrations.DeleteModel,
    migrations.AddConstraint,
    AlterTogetherOptionOperation,
)
CONTRACTING_SQL = re.compile(r"\b(DROP|RENAME|TRUNCATE|NOT\s+NULL|TYPE|ADD\s+CONSTRAINT)\b", re.IGNORECASE)
TEXTS = (models.CharField, models.TextField)


def contractions(migration: Any, before: Any) -> list[str]:
    """The operations that remove or require something. `before`: the state before the migration."""
    return list(_found(migration, before, _taken_away))


def blocking_indexes(migration: Any, before: Any) -> list[str]:
    """Indexes of existing tables whose creation would block writers."""
    return list(_found(migration, before, _builds_index))


def _found(migration: Any, before: Any, rule: Any) -> Iterator[str]:
    state, app, own, optional = before.clone(), migration.app_label, set(), set()
    for operation in migration.operations:
        if isinstance(operation, migrations.CreateModel):
            own.add(operation.name_lower)
        if isinstance(operation, migrations.AddField) and operation.field.null:
            optional.add((operation.model_name_lower, operation.name))
        for real in _real(operation):
            model = getattr(real, "model_name_lower", getattr(real, "name_lower", ""))
            if model not in own and not _is_about(optional, real) and rule(real, state, app):
                yield real.describe()
        operation.state_forwards(app, state)


def _is_about(optional: set[tuple[str, str]], operation: Any) -> bool:
    """Whether it constrains columns that this migration adds; the previous version leaves them NULL."""
    constraint = getattr(operation, "constraint", None)
    if not isinstance(constraint, models.CheckConstraint) or not isinstance(constraint.condition, models.Q):
        return False
    return {(operation.model_name_lower, name) for name in _columns(constraint.condition)} <= optional


def _columns(condition: models.Q) -> Iterator[str]:
    for child in condition.children:
        if isinstance(child, models.Q):
            yield from _columns(child)
            continue
        lookup, value = child
        yield lookup.split("__")[0]
        if isinstance(value, models.F):
            yield value.name


def _real(operation: Operation) -> list[Operation]:
    """The operations that change the database."""
    if isinstance(operation, migrations.SeparateDatabaseAndState):
        return [inner for one in operation.database_operations for inner in _real(one)]
    return [operation]


def _taken_away(operation: Any, state: Any, app: str) -> bool:
    if isinstance(operation, migrations.AddField):
        return not _optional(operation.field)
    if isinstance(operation, migrations.AlterField):
        old = state.models[app, operation.model_name_lower].get_field(operation.name)
        return _narrows(old, operation.field)
    if isinstance(operation, migrations.RunSQL):
        return bool(CONTRACTING_SQL.search(str(operation.sql)))
    if isinstance(operation, migrations.RenameModel):
        return _table(state, app, operation.old_name_lower) != _table(
            _after(operation, state, app), app, operation.new_name_lower
        )
    if isinstance(operation, migrations.AlterModelTable):
        after = _after(operation, state, app)
        return _table(state, app, operation.name_lower) != _table(after, app, operation.name_lower)
    return isinstance(operation, CONTRACTING)


def _after(operation: Any, state: Any, app: str) -> Any:
    after = state.clone()
    operation.state_forwards(app, after)
    return after


def _table(state: Any, app: str, model: str) -> str:
    """The name of a model's table in this state."""
    return state.models[app, model].options.get("db_table") or f"{app}_{model}"


def _optional(field: Any) -> bool:
    """Whether an INSERT without the column succeeds."""
    return field.null or field.many_to_many or field.generated or field.has_db_default()


def _narrows(old: Any, new: Any) -> bool:
    """Whether a value that was allowed, or could be omitted, is now refused."""
    return (
        (old.null and not new.null)
        or (new.unique and not old.unique)
        or (old.has_db_default() and not new.has_db_default())
        or (old.db_column or old.name) != (new.db_column or new.name)
        or not _holds_all_of(old, new)
    )


def _holds_all_of(old: Any, new: Any) -> bool:
    if isinstance(old, TEXTS) and isinstance(new, TEXTS):
        longest = [float("inf") if field.max_length is None else field.max_length for field in (old, new)]
        return longest[0] <= longest[1]
    return type(old) is type(new)


def _builds_index(operation: Any, state: Any, app: str) -> bool:
    if isinstance(operation, migrations.AddIndex):
        return "Concurrently" not in type(operation).__name__
    if isinstance(operation, migrations.AddField):
        return operation.field.db_index or operation.field.unique
    if isinstance(operation, migrations.RunSQL):
        return bool(re.search(r"\bCREATE\s+(UNIQUE\s+)?INDEX\b(?!\s+CONCURRENTLY)", str(operation.sql), re.I))
    return False
