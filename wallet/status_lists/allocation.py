"""Allocates an entry in a status list for each presented credential: random and never reused (§13.2).

Indexes are drawn first and claimed by one statement. There is no counter, so requests do not wait for each
other.
"""

import json
import secrets
from datetime import datetime
from functools import cache
from struct import unpack
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection

from keys.issuer_key import NoSigningKeyError
from keys.models import SigningKey
from wallet.models import Credential, StatusEntry, Wallet
from wallet.status_lists import upkeep

PATH = "/status-lists"
DRAWN = 16  # in a half-full list, all of them are taken in one of 65,536 cases
TRIES = 5

# The credential, if it can be presented. Its rows are locked until the entry is committed, so that a
# revocation either comes before, and then no entry is allocated, or after, and then finds the entry. No row
# that other presentations use is locked. Both ids, because the index of the wallet's is certain to be used.
HOLDER = """
    SELECT credential.id FROM wallet_credential credential
    JOIN wallet_wallet wallet ON wallet.id = credential.wallet_id
    WHERE credential.id = %s AND wallet.id = %s AND credential.state = 'valid'
    AND wallet.state = 'active' AND wallet.closes_at IS NULL AND wallet.closed_at IS NULL {share}
"""
_COLUMNS = "status_list_id, idx, credential_id, signing_key_id, reference, status, expires_at"
# The first free index of those drawn.
_FREE = """
    SELECT list.id AS list, drawn.number %% list.size AS idx
    FROM {drawn}
    JOIN wallet_statuslist list ON list.slot = %s AND list.closed_at IS NULL
    WHERE NOT EXISTS (
        SELECT 1 FROM wallet_statusentry taken
        WHERE taken.status_list_id = list.id AND taken.idx = drawn.number %% list.size
    )
    ORDER BY drawn.turn LIMIT 1
"""
# Claims it, if the key is active.
_TAKE = f"""
    WITH holder AS MATERIALIZED ({HOLDER})
    INSERT INTO wallet_statusentry ({_COLUMNS})
    SELECT free.list, free.idx, holder.id, signs.id, {{reference}}, 0, %s
    FROM ({_FREE}) free
    CROSS JOIN holder
    JOIN keys_signingkey signs ON signs.id = %s AND signs.state = 'active'
    WHERE TRUE ON CONFLICT DO NOTHING
    RETURNING status_list_id, idx
"""  # noqa: S608
# Any order but that of drawing would prefer some indexes. PostgreSQL knows that `turn` is sorted, so it stops
# at the first free index. SQLite has one writer at a time and needs no lock.
DIALECTS = {
    "postgresql": {
        "share": "FOR SHARE",
        "reference": "CAST(%s AS uuid)",
        "drawn": "unnest(CAST(translate(%s, '[]', '{}') AS integer[])) WITH ORDINALITY drawn (number, turn)",
    },
    "sqlite": {
        "share": "",
        "reference": "%s",
        "drawn": "(SELECT value AS number, key AS turn FROM json_each(%s)) drawn",
    },
}


class SetAsideError(Exception):
    """The credential or its wallet is suspended or revoked, perhaps by a concurrent request."""


class KeyMovedOnError(NoSigningKeyError):
    """The key is no longer active."""


def address(list_id: int) -> str:
    """The address of a list: `uri` in credentials, `sub` in the list's token."""
    return f"{settings.BASE_URL}{PATH}/{list_id}"


def status_claim(list_id: int, idx: int) -> dict[str, Any]:
    """The `status` of the credential with this entry (§6); it must not be selectively disclosable."""
    return {"status_list": {"idx": idx, "uri": address(list_id)}}


def take(
    credential: Credential, *, kid: str, reference: UUID | None, expires_at: datetime, now: datetime
) -> tuple[int, int]:
    """Allocate an entry (list, index) for a presentation that key `kid` signs and that ends at `expires_at`.

    One statement, unless all drawn indexes are taken. If it raises SetAsideError or KeyMovedOnError, nothing
    is allocated.
    """
    for _ in range(TRIES):
        if taken := _take(credential, UUID(kid), reference, expires_at):
            return taken
        if not _can_be_presented(credential):
            raise SetAsideError("The credential or its wallet is suspended or revoked.")
        if not SigningKey.objects.filter(pk=kid, state=SigningKey.State.ACTIVE).exists():
            raise KeyMovedOnError(f"Signing key {kid} is no longer active.")
        upkeep.keep_open(now=now)
    raise RuntimeError("No status list has a free entry.")


def draw() -> dict[str, Any]:
    """Random indexes, as JSON, and the slot of one of the open lists."""
    drawn = [number >> 1 for number in unpack(f"{DRAWN}I", secrets.token_bytes(4 * DRAWN))]
    return {"drawn": json.dumps(drawn), "slot": secrets.choice(upkeep.SLOTS)}


def _stored(column: str, value: Any) -> Any:
    """The value as the database takes it in this column of an entry."""
    field: Any = StatusEntry._meta.get_field(column)
    return field.get_db_prep_save(value, connection)


def _take(
    credential: Credential, kid: UUID, reference: UUID | None, expires_at: datetime
) -> tuple[int, int] | None:
    drawn = draw()
    values = [
        _stored("credential", credential.pk),
        _stored("credential", credential.wallet_id),
        _stored("reference", reference),
        _stored("expires_at", expires_at),
        drawn["drawn"],
        drawn["slot"],
        _stored("signing_key", kid),
    ]
    with connection.cursor() as cursor:
        cursor.execute(_statement(connection.vendor), values)
        list_and_index: tuple[int, int] | None = cursor.fetchone()
        return list_and_index


@cache
def _statement(vendor: str) -> str:
    return _TAKE.format_map(DIALECTS[vendor])


def _can_be_presented(credential: Credential) -> bool:
    rows = Credential.objects.filter(
        pk=credential.pk,
        state=Credential.State.VALID,
        wallet__state=Wallet.State.ACTIVE,
        wallet__closes_at=None,
        wallet__closed_at=None,
    )
    return rows.exists()
