"""A database of version 0.2.0 is upgraded: no migration runs twice, and the schema equals a new one's."""

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
# Rows that migrations make. A comparison of schemas does not see them.
MADE = {
    "roles": """
        SELECT auth_group.name, app_label, codename FROM auth_group
        JOIN auth_group_permissions ON group_id = auth_group.id
        JOIN auth_permission ON auth_permission.id = permission_id
        JOIN django_content_type ON django_content_type.id = content_type_id
    """,
    "permissions": """
        SELECT app_label, model, codename, name FROM auth_permission
        JOIN django_content_type ON django_content_type.id = content_type_id
    """,
    "content types": "SELECT app_label, model FROM django_content_type",
    "scopes": """
        SELECT urn, query_id, title, required_claims::text, optional_claims::text FROM presentation_scope
    """,
    "marks": "SELECT environment FROM keys_databasemark",
    "migrations": "SELECT app, name FROM django_migrations",
}
PARTLY = "DELETE FROM django_migrations WHERE app = 'wallet' AND name LIKE '0013%'"
VERSION_0_1 = "UPDATE django_migrations SET name = '0001_initial' WHERE app = 'keys'"


# Of releases before the audit record: version 0.2.0 lists them, and adds none.
LOOKED = """
    INSERT INTO wallet_auditentry (at, operator_id, action, subject, subject_id) VALUES
    ('2026-03-02 09:30:15.25+00', 41, 'picture_seen', 'identityverification',
     '0b5cbe4a-3d5f-4dcb-9e50-8f1ff0a9ef77'),
    ('2026-03-01 09:30:15.25+00', 40, 'claims_seen', 'identityverification',
     '0b5cbe4a-3d5f-4dcb-9e50-8f1ff0a9ef77')
"""


@dataclass
class Upgraded:
    """The database after `migrate`, with its output."""

    url: str
    environment: dict[str, str]
    printed: str


def made(url: str) -> dict[str, set[Any]]:
    with psycopg.connect(url) as database:
        return {part: set(database.execute(query).fetchall()) for part, query in MADE.items()}


@pytest.fixture(scope="module")
def upgraded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Upgraded]:
    with recorded_database() as url:
        with psycopg.connect(url) as database:
            database.execute(LOOKED)
        variables = environment(url, tmp_path_factory.mktemp("state"))
        migrated = manage(variables, "migrate")
        assert migrated.returncode == 0, migrated.stderr
        yield Upgraded(url, variables, migrated.stdout)


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a database that this version made."""
    with own_database() as url:
        variables = production(url, tmp_path_factory.mktemp("new"))
        assert manage(variables, "migrate", "--verbosity", "0").returncode == 0
        yield url


def test_no_migration_of_version_0_2_0_runs_again(upgraded: Upgraded) -> None:
    assert "0001_release_0_2" not in upgraded.printed
    again = manage(upgraded.environment, "migrate")
    assert "No migrations to apply" in again.stdout


def test_the_upgraded_database_has_the_rows_of_a_new_one(upgraded: Upgraded, new: str) -> None:
    rows, found = made(new), made(upgraded.url)
    assert rows.pop("migrations") < found["migrations"]  # which names those of version 0.1 as well
    for part, expected in rows.items():
        assert found[part] == expected, part
    assert {name for name, *_ in rows["roles"]} == {
        "Relying parties",
        "Identity review",
        "Keys",
        "Audit (read only)",
        "Support",
    }
    assert len(rows["scopes"]) == 4


def test_the_upgraded_database_has_the_schema_of_a_new_one(upgraded: Upgraded, new: str) -> None:
    made_now, found = schema(new), schema(upgraded.url)

    assert all(len(part) > 25 for name, part in made_now.items() if name not in ("triggers", "functions"))
    assert len(made_now["triggers"]) == len(made_now["functions"]) == 1  # of the audit record
    for part, expected in made_now.items():
        assert found[part] == expected, part


def test_looks_from_before_the_audit_record_become_lines_of_it(upgraded: Upgraded) -> None:
    with psycopg.connect(upgraded.url) as database:
        lines = database.execute(
            "SELECT operator_id, action, about, text::json->>'reason' FROM infra_auditline"
            " ORDER BY seq DESC LIMIT 2"
        ).fetchall()
        kept = database.execute("SELECT count(*) FROM wallet_auditentry").fetchall()

    about = "wallet.identityverification:0b5cbe4a-3d5f-4dcb-9e50-8f1ff0a9ef77"
    assert lines == [
        (41, "picture_seen", about, "at 2026-03-02T09:30:15+00:00, before the audit record"),
        (40, "claims_seen", about, "at 2026-03-01T09:30:15+00:00, before the audit record"),
    ]
    assert kept == [(2,)]  # an instance of version 0.2.0 beside this release still reads the table
    assert manage(upgraded.environment, "verify_audit_record").returncode == 0


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
    assert "DE02 1203 0000 0000 2020 51" in found["receipts"]  # sealed by version 0.2.0
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
        "clear_expired",
        "worker --once",
    ):
        done = manage(upgraded.environment | two, *command.split())
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("change", [PARTLY, VERSION_0_1], ids=["partly migrated", "version 0.1"])
def test_a_database_from_before_version_0_2_0_is_refused_with_advice_and_not_touched(
    change: str, tmp_path: Path
) -> None:
    with recorded_database() as url:
        with psycopg.connect(url) as database:
            database.execute(change)
        before = (schema(url), made(url))

        refused = manage(environment(url, tmp_path), "migrate")

        assert refused.returncode != 0
        assert "older than version 0.2.0. Upgrade to 0.2.0 (commit 2c2e00e) first" in refused.stderr
        assert "Traceback" not in refused.stderr
        assert (schema(url), made(url)) == before


def test_a_first_migration_that_was_interrupted_continues(tmp_path: Path) -> None:
    with own_database() as url:
        variables = production(url, tmp_path)
        assert manage(variables, "migrate", "keys", "--verbosity", "0").returncode == 0

        assert manage(variables, "migrate", "--verbosity", "0").returncode == 0
