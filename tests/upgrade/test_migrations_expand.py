"""After version 0.2.0 migrations add first and remove one release later."""

import sys
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import migrations, models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ModelState, ProjectState

from tests.upgrade.contractions import blocking_indexes, contractions
from tools.version import current

# The sandbox's own tables are not among them: a sandbox is not updated while it runs.
APPS = {"infra", "keys", "wallet", "consent", "presentation"}


def later_migrations() -> Iterator[tuple[Any, ProjectState]]:
    """Every migration of the project since version 0.2.0, with the state before it."""
    loader = MigrationLoader(None)
    for key, migration in sorted(loader.disk_migrations.items()):
        if key[0] in APPS and not migration.replaces:
            yield migration, loader.project_state(key, at_end=False)


def version(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split("."))


def test_the_first_migration_of_each_app_replaces_those_of_version_0_2_0() -> None:
    squashed = {key: one for key, one in MigrationLoader(None).disk_migrations.items() if one.replaces}

    assert squashed.keys() == {(app, "0001_release_0_2") for app in (*APPS, "sandbox")}
    assert sum(len(migration.replaces) for migration in squashed.values()) == 38


def test_the_previous_version_runs_on_every_migration() -> None:
    for migration, before in later_migrations():
        released = getattr(sys.modules[type(migration).__module__], "contracts", "")
        found = contractions(migration, before)
        assert bool(found) == bool(released), (str(migration), found)
        assert not released or version(released) < version(current()), str(migration)


def test_no_migration_blocks_writers_for_an_index() -> None:
    for migration, before in later_migrations():
        assert blocking_indexes(migration, before) == [], str(migration)
        concurrent = any("Concurrently" in type(one).__name__ for one in migration.operations)
        assert not (concurrent and migration.atomic), str(migration)


# --- The rules themselves ---------------------------------------------------------------------------------


def read(operation: Any, rule: Any = contractions) -> list[str]:
    state = ProjectState()
    fields = {
        "id": models.BigAutoField(primary_key=True),
        "title": models.CharField(max_length=10),
        "note": models.TextField(null=True),
        "number": models.IntegerField(db_default=0),
    }
    state.add_model(ModelState("shop", "Order", list(fields.items())))
    migration = migrations.Migration("0002_next", "shop")
    migration.operations = operation if isinstance(operation, list) else [operation]
    return list(rule(migration, state))


TEN = models.CharField(max_length=10)
REMOVED = migrations.RemoveField("order", "title")
INDEX = models.Index(fields=["title"], name="shop_titles")
FREE = models.CheckConstraint(condition=~models.Q(first=models.F("second")), name="shop_two")
CHECK = models.CheckConstraint(condition=models.Q(number__gt=0), name="shop_positive")


class AddIndexConcurrently(migrations.AddIndex):
    pass


@pytest.mark.parametrize(
    "operation",
    [
        REMOVED,
        migrations.RenameField("order", "title", "name"),
        migrations.RenameModel("Order", "Purchase"),
        migrations.DeleteModel("Order"),
        migrations.AlterModelTable("order", "orders"),
        migrations.AlterUniqueTogether("order", {("title", "number")}),
        migrations.AddConstraint("order", CHECK),
        migrations.AddField("order", "colour", models.CharField(max_length=10, default="red")),
        migrations.AlterField("order", "title", models.CharField(max_length=9)),
        migrations.AlterField("order", "title", models.CharField(max_length=10, unique=True)),
        migrations.AlterField("order", "title", models.CharField(max_length=10, db_column="name")),
        migrations.AlterField("order", "note", models.TextField()),
        migrations.AlterField("order", "note", models.CharField(max_length=10, null=True)),
        migrations.AlterField("order", "number", models.IntegerField()),
        migrations.AlterField("order", "number", models.SmallIntegerField(db_default=0)),
        migrations.RunSQL("ALTER TABLE shop_order DROP COLUMN title"),
        migrations.RunSQL(["SELECT 1", "alter table shop_order rename to orders"]),
        migrations.RunSQL("ALTER TABLE shop_order ALTER COLUMN note SET NOT NULL"),
        migrations.SeparateDatabaseAndState(database_operations=[REMOVED]),
    ],
    ids=lambda operation: operation.describe(),
)
def test_operations_that_remove_or_require_something_are_contractions(operation: Any) -> None:
    assert len(read(operation)) == 1


@pytest.mark.parametrize(
    "operation",
    [
        migrations.CreateModel("Other", [("id", models.BigAutoField(primary_key=True))]),
        migrations.AddField("order", "colour", models.CharField(max_length=10, db_default="red")),
        migrations.AddField("order", "colour", models.CharField(max_length=10, null=True)),
        migrations.AlterField("order", "title", models.CharField("name", max_length=11)),
        migrations.AlterField("order", "title", models.TextField()),
        migrations.AddIndex("order", INDEX),
        migrations.RunSQL("UPDATE shop_order SET note = NULL"),
        migrations.SeparateDatabaseAndState(state_operations=[REMOVED]),
        [migrations.AlterModelTable("order", "shop_order"), migrations.RenameModel("Order", "Purchase")],
        [
            migrations.CreateModel("Other", [("id", models.BigAutoField(primary_key=True))]),
            migrations.AddField("other", "title", TEN),
        ],
        [
            migrations.AddField("order", "first", models.IntegerField(null=True)),
            migrations.AddField("order", "second", models.IntegerField(null=True)),
            migrations.AddConstraint("order", FREE),
        ],
    ],
)
def test_operations_that_the_previous_version_ignores_are_no_contractions(operation: Any) -> None:
    assert read(operation) == []


def test_a_constraint_that_mentions_an_older_column_as_well_is_a_contraction() -> None:
    added = migrations.AddField("order", "first", models.IntegerField(null=True))
    mixed = models.CheckConstraint(condition=~models.Q(first=models.F("number")), name="shop_mixed")

    assert len(read([added, migrations.AddConstraint("order", mixed)])) == 1


@pytest.mark.parametrize(
    ("operation", "count"),
    [
        (migrations.AddIndex("order", INDEX), 1),
        (migrations.AddField("order", "colour", models.CharField(max_length=9, null=True, db_index=True)), 1),
        (migrations.RunSQL("CREATE INDEX titles ON shop_order (title)"), 1),
        (migrations.RunSQL("CREATE INDEX CONCURRENTLY titles ON shop_order (title)"), 0),
        (AddIndexConcurrently("order", INDEX), 0),
        ([migrations.CreateModel("Other", [("title", TEN)]), migrations.AddIndex("other", INDEX)], 0),
    ],
)
def test_an_index_of_an_existing_table_is_built_concurrently(operation: Any, count: int) -> None:
    assert len(read(operation, blocking_indexes)) == count
