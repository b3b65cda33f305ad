"""The database of version 0.2.0 in `version_0_2_0.sql`, and the secrets of its holders and clients."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import psycopg
from psycopg import sql

from tests.own_databases import own_database, production

DUMP = Path(__file__).with_name("version_0_2_0.sql")
RECORDED_AT = datetime(2026, 11, 23, 20, 20, 5, tzinfo=UTC)
SECRETS = {
    "SECRET_KEY": "recorded-for-the-test-of-upgrades-0123456789-abcdefghijklmnop",
    "KEY_SEALING_KEYS": "recorded-for-the-test-of-upgrades-0123456789",
}
# Petronella is signed in and has been shown a consent page; Acme Bank has pushed another request.
HOLDER = "petronella.quicksilver@example.org"
COOKIES = {
    "__Host-holder": "aIygKpCe4brXwVmEwyJwV3OjvDtFjsdqe92nhIx6ooA",
    "__Host-browser": "_-vKlDdi6cQCuIRmwEeTS3dYJ3bBf7xduSGX8MhrjO8",
}
CONSENT_PAGE = "/consent/4bc0333f-f315-4cba-bad4-8355ac59f021/"
REQUEST_URI = "urn:ietf:params:oauth:request_uri:oFxx5M8bA5O1LPe9dGiVZS9ZgaG-aya5HV-Bl6RYaUM"
CLIENT_ID = "b147c14fd35b2ec25e4e87c1d667a345"
CLIENT_SECRET = "-ENf4SKJbkAstnKAurhOhGML79I5SKcvtxh3Lq2G4vA"
TIMES = """
    SELECT table_name, array_agg(column_name::text) FROM information_schema.columns
    WHERE table_schema = 'public' AND data_type = 'timestamp with time zone'
        AND table_name <> 'infra_auditline'  -- its trigger refuses every change
    GROUP BY table_name
"""


@contextmanager
def recorded_database() -> Iterator[str]:
    """The URL of a copy, which is dropped afterwards."""
    with own_database() as url:
        with psycopg.connect(url) as database:
            database.execute(DUMP.read_bytes())
        yield url


def environment(url: str, folder: Path) -> dict[str, str]:
    """The environment of the production that the database belongs to."""
    return production(url, folder) | SECRETS


def move_to_the_present(url: str) -> None:
    """Move every time by the time since the recording, so that open requests are still open."""
    passed = datetime.now(UTC) - RECORDED_AT
    with psycopg.connect(url) as database:
        for table, columns in database.execute(TIMES).fetchall():
            later = [sql.SQL("{0} = {0} + {1}").format(sql.Identifier(name), passed) for name in columns]
            database.execute(
                sql.SQL("UPDATE {} SET {}").format(sql.Identifier(table), sql.SQL(", ").join(later))
            )
