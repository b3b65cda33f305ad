"""Tables that moved into `infra`: a fresh database gets them, and one of version 0.1 keeps its own."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.db import connection, migrations, models
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.state import ProjectState
from django.utils import timezone

from infra.models import Allowance, DatabaseMark

pytestmark = pytest.mark.django_db(transaction=True)

# The models of version 0.1, with their app.
IN_VERSION_0_1 = [
    (
        "wallet",
        migrations.CreateModel(
            name="Allowance",
            fields=[
                ("key", models.CharField(editable=False, max_length=64, primary_key=True, serialize=False)),
                ("count", models.PositiveIntegerField(editable=False)),
                ("expires_at", models.DateTimeField(db_index=True, editable=False)),
            ],
            options={"default_permissions": []},
        ),
    ),
    (
        "keys",
        migrations.CreateModel(
            name="DatabaseMark",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False)),
                ("environment", models.CharField(editable=False, max_length=10)),
                ("marked_at", models.DateTimeField(editable=False)),
                ("only", models.BooleanField(default=True, editable=False)),
            ],
            options={
                "default_permissions": [],
                "constraints": [
                    models.UniqueConstraint(fields=("only",), name="keys_one_database_mark"),
                    models.CheckConstraint(
                        condition=models.Q(("only", True)), name="keys_database_mark_is_the_only"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("environment__in", ["sandbox", "production"])),
                        name="keys_database_mark_known",
                    ),
                ],
            },
        ),
    ),
]


def migrate(target: str | None) -> None:
    executor = MigrationExecutor(connection)
    executor.migrate([("infra", target)] if target is None else executor.loader.graph.leaf_nodes("infra"))


def schema() -> dict[str, Any]:
    """Columns, constraints and indexes of every table of this app."""
    found = {}
    with connection.cursor() as cursor:
        ours = {model._meta.db_table for model in apps.get_app_config("infra").get_models()}
        for table in sorted(ours & set(connection.introspection.table_names(cursor))):
            columns = connection.introspection.get_table_description(cursor, table)
            constraints = connection.introspection.get_constraints(cursor, table)
            found[table] = sorted(map(str, columns)), sorted(constraints.items())
    return found


@pytest.fixture
def fresh() -> Iterator[dict[str, Any]]:
    """Drops the tables and gives their definition in a fresh database; makes them again after the test."""
    as_made = schema()
    migrate(None)
    yield as_made
    migrate("newest")


def test_a_fresh_database_gets_the_tables(fresh: dict[str, Any]) -> None:
    assert schema() == {}

    migrate("newest")

    assert schema() == fresh
    assert len(fresh) == len(IN_VERSION_0_1) + 5  # five tables came later


def test_a_database_of_version_0_1_keeps_its_tables_and_rows(fresh: dict[str, Any]) -> None:
    for app, created in IN_VERSION_0_1:
        state = ProjectState()
        before = state.clone()
        created.state_forwards(app, state)
        with connection.schema_editor() as editor:
            created.database_forwards(app, editor, before, state)
    until = timezone.now() + timedelta(minutes=5)
    Allowance.objects.create(key="a" * 64, count=3, expires_at=until)

    DatabaseMark.objects.create(environment="production", marked_at=until)

    migrate("newest")

    assert schema() == fresh
    assert DatabaseMark.objects.values_list("environment", "marked_at").get() == ("production", until)
    assert Allowance.objects.values_list().get() == ("a" * 64, 3, until)
