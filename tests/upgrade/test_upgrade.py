"""A database of version 0.1.0 is upgraded: no migration runs twice, and the schema equals a new one's."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest

from tests.own_databases import manage, own_database, production, run
from tests.upgrade.recorded import SECRETS, environment, move_to_the_present, recorded_database
from tests.upgrade.schema import schema

pytestmark = pytest.mark.postgresql
ROLES = """
    SELECT auth_group.name, app_label, codename FROM auth_group
    JOIN auth_group_permissions ON group_id = auth_group.id
    JOIN auth_permission ON auth_permission.id = permission_id
    JOIN django_content_type ON django_content_type.id = content_type_id
"""


@dataclass
class Upgraded:
    """The database after `migrate`, with its output."""

    url: str
    environment: dict[str, str]
    printed: str
    roles_before: set[Any]


def roles(url: str) -> set[Any]:
    with psycopg.connect(url) as database:
        return set(database.execute(ROLES).fetchall())


@pytest.fixture(scope="module")
def upgraded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Upgraded]:
    with recorded_database() as url:
        variables = environment(url, tmp_path_factory.mktemp("state"))
        before = roles(url)
        migrated = manage(variables, "migrate")
        assert migrated.returncode == 0, migrated.stderr
        yield Upgraded(url, variables, migrated.stdout, before)


def test_no_migration_of_version_0_1_0_runs_again(upgraded: Upgraded) -> None:
    assert "0001_release_0_1" not in upgraded.printed
    assert "0002_operator_roles" not in upgraded.printed
    again = manage(upgraded.environment, "migrate")
    assert "No migrations to apply" in again.stdout


def test_the_operators_keep_their_roles_and_a_new_database_has_the_same(
    upgraded: Upgraded, tmp_path: Path
) -> None:
    assert len({name for name, *_ in upgraded.roles_before}) == 4
    added = roles(upgraded.url) - upgraded.roles_before
    assert {(role, permission) for role, _app, permission in added} == {
        *(("Relying parties", f"{action}_scope") for action in ("view", "add", "change", "delete")),
        ("Audit (read only)", "view_scope"),
        ("Audit (read only)", "view_outgoingemail"),
        *(("Identity review", f"{action}_outgoingemail") for action in ("view", "change")),
        ("Support", "look_up_holder"),
    }
    assert upgraded.roles_before <= roles(upgraded.url)
    with own_database() as url:
        assert manage(production(url, tmp_path), "migrate", "--verbosity", "0").returncode == 0
        assert roles(url) == roles(upgraded.url)


def test_the_upgraded_database_has_the_schema_of_a_new_one(upgraded: Upgraded, tmp_path: Path) -> None:
    with own_database() as url:
        assert manage(production(url, tmp_path), "migrate", "--verbosity", "0").returncode == 0
        new = schema(url)

    assert all(len(part) > 25 for name, part in new.items() if name != "triggers")
    found = schema(upgraded.url)
    for part, expected in new.items():
        assert found[part] == expected, part


def test_people_and_relying_parties_continue_where_they_were(upgraded: Upgraded) -> None:
    assert manage(upgraded.environment, "collectstatic", "--no-input", "--verbosity", "0").returncode == 0
    move_to_the_present(upgraded.url)

    visited = run(
        upgraded.environment | {"DJANGO_SETTINGS_MODULE": "config.settings"}, "-m", "tests.upgrade.visit"
    )

    assert visited.returncode == 0, visited.stderr
    found = json.loads(visited.stdout)
    assert "Planted Shop" in found["consent page"]
    answer = parse_qs(urlsplit(found["answer"]).fragment)
    assert set(answer) == {"vp_token", "state"}
    assert "DE02 1203 0000 0000 2020 51" in found["receipts"]  # sealed by version 0.1.0
    assert found["found receipts"] >= 2  # by the text that the migration filled in
    assert "Planted goods" in found["receipts"]  # in a record without the hash of its transaction
    assert "Planted memo" in found["pushed request"]
    assert found["access token"]["token_type"] == "Bearer"
    assert parse_qs(urlsplit(found["used nonce"]).fragment)["error"] == ["invalid_request"]


def test_every_sealed_value_opens_and_the_hourly_commands_run(upgraded: Upgraded) -> None:
    two = {"KEY_SEALING_KEYS": f"a-new-sealing-key-of-many-characters,{SECRETS['KEY_SEALING_KEYS']}"}
    resealed = manage(upgraded.environment | two, "reseal", "--reason", "test")
    assert "Everything is sealed under the first key" in resealed.stdout, resealed.stderr

    for command in (
        "rotate_signing_keys",
        "sweep_identity_verifications",
        "send_share_emails",
        "clear_expired",
    ):
        done = manage(upgraded.environment | two, command)
        assert done.returncode == 0, done.stderr


def test_a_database_from_before_version_0_1_0_is_refused_with_advice_and_not_touched(tmp_path: Path) -> None:
    with recorded_database() as url:
        with psycopg.connect(url) as database:
            database.execute("DELETE FROM django_migrations WHERE app = 'consent' AND name LIKE '0006%'")
        before = schema(url)

        refused = manage(environment(url, tmp_path), "migrate")

        assert refused.returncode != 0
        assert "older than version 0.1.0" in refused.stderr
        assert "Traceback" not in refused.stderr
        assert schema(url) == before
