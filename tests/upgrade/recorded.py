"""The database of version 0.1.0 in `version_0_1_0.sql`, and the secrets of its holders and clients."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import psycopg
from psycopg import sql

from tests.own_databases import own_database, production

DUMP = Path(__file__).with_name("version_0_1_0.sql")
RECORDED_AT = datetime(2026, 11, 22, 6, 50, 55, tzinfo=UTC)
SECRETS = {
    "SECRET_KEY": "recorded-for-the-test-of-upgrades-0123456789-abcdefghijklmnop",
    "KEY_SEALING_KEYS": "recorded-for-the-test-of-upgrades-0123456789",
}
# Alice is signed in and has been shown a consent page; Acme Bank has pushed another request.
COOKIES = {
    "__Host-holder": "V8TtimA2aT5HJbhpY7WfRaetcF5n3YDDYsuUdvNht-4",
    "__Host-browser": "3uc-5sgWbiB1nGI0t2YKSp8TuwI58WI5NyXPVdPFS2o",
}
CONSENT_PAGE = "/consent/7d80f2c7-6f46-4e7a-b3ad-f95dc061d8a4/"
REQUEST_URI = "urn:ietf:params:oauth:request_uri:wZfmLgTaTxy_hi35kr6M4HQq3VDVuYsUTatiM_5bCck"
CLIENT_ID = "f14a61595c9700e67de5f094df887122"
CLIENT_SECRET = "EXnPUDVNWs2KwcmUX2wfOHNhYAmyLCnd0SA8YDfn6wE"
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
