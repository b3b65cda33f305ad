"""Fills a database of this service with the rows that years leave: `fill(url, rows)`.

Rows are copies of what one real flow left there, with other identifiers, times, wallets and relying parties,
so that a new column has the value of the real row. All is done by `INSERT … SELECT`, a table at a time.
"""

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import psycopg

PER_WALLET = 25  # consents for each wallet, on average
PER_LIST = 400_000  # status entries of one list: less than half of its 2^20
LIST = 2**20
REMEMBERED = "390 days"  # the time over which the questions are spread; the service forgets nonces after 400

# Numbers 1 to n of what there is already and of what is added: the others refer to them by number.
WALLETS = """
    CREATE TEMPORARY TABLE numbered_wallet AS
    SELECT row_number() OVER () AS number, wallet.id, credential.id AS credential
    FROM wallet_wallet wallet JOIN wallet_credential credential ON credential.wallet_id = wallet.id
    UNION ALL
    SELECT number + (SELECT count(*) FROM wallet_credential), md5('wallet ' || number)::uuid,
        md5('credential ' || number)::uuid
    FROM generate_series(1, %(wallets)s) number
"""
PARTIES = """
    CREATE TEMPORARY TABLE numbered_party AS
    SELECT row_number() OVER (ORDER BY id DESC) AS number, id, client_id FROM presentation_relyingparty
"""
# Half of the questions come from a quarter of the relying parties, and are for a quarter of the wallets: of
# 200,000 wallets with 5 million consents the first has 11,000, the hundredth 560, most have 12 to 25.
QUESTIONS = """
    CREATE TEMPORARY TABLE numbered_question AS
    SELECT drawn.number, md5('consent ' || drawn.number)::uuid AS consent,
        md5('interaction ' || drawn.number)::uuid AS interaction,
        wallet.id AS wallet, wallet.credential, party.id AS party, party.client_id,
        now() - interval '3 days' - %(span)s::interval * (1 - drawn.number::float / %(rows)s) AS at
    FROM (
        SELECT number, 1 + floor(power(random(), 2) * (SELECT count(*) FROM numbered_wallet)) AS of_wallet,
            1 + floor(power(random(), 2) * (SELECT count(*) FROM numbered_party)) AS of_party
        FROM generate_series(1, %(rows)s) number
    ) drawn
    JOIN numbered_wallet wallet ON wallet.number = of_wallet
    JOIN numbered_party party ON party.number = of_party
"""
LISTS = """
    CREATE TEMPORARY TABLE numbered_list AS
    SELECT row_number() OVER (ORDER BY id) - 1 AS number, id FROM wallet_statuslist
"""


@dataclass(frozen=True)
class Copies:
    """Copies of one row of a table: where they differ, and from what (`new`) the differences come."""

    table: str
    columns: dict[str, str]
    source: str
    of: str = "true"  # the condition for the row that is copied


CLOSED_LISTS = Copies(
    "wallet_statuslist",
    {"id": "nextval(pg_get_serial_sequence('wallet_statuslist', 'id'))", "closed_at": "now()"},
    "generate_series(1, {lists} - (SELECT count(*) FROM wallet_statuslist)) new",
)
ROWS = [
    Copies(
        "wallet_wallet",
        {"id": "new.id", "email": "'grown' || new.number || '@example.org'"},
        "numbered_wallet new WHERE NOT EXISTS (SELECT 1 FROM wallet_wallet old WHERE old.id = new.id)",
    ),
    Copies(
        "wallet_identityverification",
        {"id": "md5('verification ' || new.number)::uuid", "wallet_id": "new.id"},
        "numbered_wallet new"
        " WHERE NOT EXISTS (SELECT 1 FROM wallet_identityverification old WHERE old.wallet_id = new.id)",
    ),
    Copies(
        "wallet_credential",
        {
            "id": "new.credential",
            "wallet_id": "new.id",
            "verification_id": "md5('verification ' || new.number)::uuid",
        },
        "numbered_wallet new"
        " WHERE NOT EXISTS (SELECT 1 FROM wallet_credential old WHERE old.wallet_id = new.id)",
    ),
    Copies(
        "wallet_holdersession",
        {
            "digest": "md5('session ' || new.number) || md5(new.number::text)",
            "wallet_id": "new.id",
            "public_id": "gen_random_uuid()",
        },
        "numbered_wallet new"
        " WHERE NOT EXISTS (SELECT 1 FROM wallet_holdersession old WHERE old.wallet_id = new.id)",
    ),
    Copies(
        "consent_consent",
        {
            "id": "new.consent",
            "wallet_id": "new.wallet",
            "requester_id": "new.client_id",
            "return_to": "'/verifiable-credentials/v1/presentation/interactions/' || new.interaction || '/'",
            "request_hash": "md5(new.interaction::text) || md5(new.consent::text)",
            "decision": "CASE new.number % 10 WHEN 0 THEN 'declined' ELSE 'granted' END",
            "asked_at": "new.at",
            "decided_at": "new.at + interval '20 seconds'",
            "expires_at": "new.at + interval '30 minutes'",
            "extendable_until": "new.at + interval '2 hours'",
        },
        "numbered_question new",
        of="decision = 'granted'",
    ),
    Copies(
        "presentation_interaction",
        {
            "id": "new.interaction",
            "relying_party_id": "new.party",
            "consent_id": "new.consent",
            "request_hash": "md5(new.interaction::text) || md5(new.consent::text)",
            "nonce_digest": "md5('nonce ' || new.number) || md5(new.number::text)",
            "created_at": "new.at",
            "answered_at": "new.at + interval '20 seconds'",
            "expires_at": "new.at + interval '30 minutes'",
        },
        "numbered_question new",
        of="outcome = 'token'",
    ),
    Copies(
        "wallet_statusentry",
        {
            "id": "nextval(pg_get_serial_sequence('wallet_statusentry', 'id'))",
            "status_list_id": "list.id",
            # An odd factor makes the indexes of a list distinct, and spreads them.
            "idx": f"(new.number / (SELECT count(*) FROM numbered_list) * 654435761) % {LIST}",
            "credential_id": "new.credential",
            "reference": "new.consent",
            "expires_at": "now() + interval '1 hour' + interval '1 day' * (new.number % 1000) / 1000",
        },
        "numbered_question new JOIN numbered_list list"
        " ON list.number = new.number % (SELECT count(*) FROM numbered_list)",
        of="credential_id IS NOT NULL",
    ),
]


def fill(url: str, rows: int) -> float:
    """Adds so many consents, interactions and status entries, and wallets; returns the seconds that it took.

    The database needs a flow that ended with a token. It is analysed afterwards.
    """
    began = perf_counter()
    with psycopg.connect(url, autocommit=True) as connection, psycopg.ClientCursor(connection) as cursor:
        # Keys between tables are not checked: the statements above keep them.
        for setting in (
            "session_replication_role = replica",
            "synchronous_commit = off",
            "work_mem = '256MB'",
        ):
            cursor.execute(f"SET {setting}")
        cursor.execute("SET maintenance_work_mem = '512MB'")
        _copy(cursor, CLOSED_LISTS, lists=max(2, 1 + rows // PER_LIST))
        facts = {"rows": rows, "wallets": max(1, rows // PER_WALLET), "span": REMEMBERED}
        for statement in (WALLETS, PARTIES, QUESTIONS, LISTS):
            cursor.execute(statement, facts)
        for temporary in ("numbered_wallet", "numbered_party", "numbered_question", "numbered_list"):
            cursor.execute(f"ANALYZE {temporary}")
        for copies in ROWS:
            _copy(cursor, copies)
        cursor.execute("VACUUM ANALYZE")
        cursor.execute("CHECKPOINT")  # so that nothing is left to be written while something is measured
    return perf_counter() - began


def _copy(cursor: psycopg.Cursor[Any], copies: Copies, **names: int) -> None:
    """Inserts the copies. Indexes without a constraint are dropped before and made again, which is faster."""
    indexes = cursor.execute(
        "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename = %s"
        " AND indexname NOT IN (SELECT conname FROM pg_constraint)",
        [copies.table],
    ).fetchall()
    found = cursor.execute(
        "SELECT column_name FROM information_schema.columns"
        " WHERE table_schema = 'public' AND table_name = %s",
        [copies.table],
    ).fetchall()
    values = {name: f"model.{name}" for (name,) in found} | copies.columns
    for name, _ in indexes:
        cursor.execute(f'DROP INDEX "{name}"')
    cursor.execute(
        f"INSERT INTO {copies.table} ({', '.join(values)}) SELECT {', '.join(values.values())}"
        f" FROM (SELECT * FROM {copies.table} WHERE {copies.of} LIMIT 1) model"
        f" CROSS JOIN {copies.source.format_map(names)}"
        " ON CONFLICT DO NOTHING"  # the entry of the real flow may have one of the indexes
    )
    for _, definition in indexes:
        cursor.execute(definition)
