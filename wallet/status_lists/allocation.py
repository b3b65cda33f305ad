"""Every presented credential gets a place in a list: random, never given twice (Token Status List §13.2).

Places are drawn first and taken in one statement, so that nobody waits for anybody: there is no counter.
"""

import json
import secrets
from datetime import datetime
from functools import cache
from struct import unpack
from typing import Any
from uuid import UUID

from django.db import connection

from keys.issuer_key import NoSigningKeyError
from keys.models import SigningKey
from wallet.models import Credential, StatusEntry, Wallet
from wallet.status_lists import upkeep

DRAWN = 16  # in a list that is half full, one statement of 65,536 finds all of them taken
TRIES = 5

# The first free place of those drawn, for a credential that can be presented and a key that signs. The
# holder's rows are locked against whoever revokes until this is written: a revocation comes before, and then
# nothing is given; or after, and finds the place. No row that others present with is locked.
_TAKE = """
    WITH holder AS MATERIALIZED (
        SELECT credential.id FROM wallet_credential credential
        JOIN wallet_wallet wallet ON wallet.id = credential.wallet_id
        WHERE credential.id = %s AND credential.state = 'valid' AND wallet.state = 'active' {share}
    )
    INSERT INTO wallet_statusentry
        (status_list_id, idx, credential_id, signing_key_id, reference, status, expires_at)
    SELECT list.id, drawn.number %% list.size, holder.id, signs.id, {reference}, 0, %s
    FROM {drawn}
    JOIN wallet_statuslist list ON list.slot = %s AND list.closed_at IS NULL
    CROSS JOIN holder
    JOIN keys_signingkey signs ON signs.id = %s AND signs.state = 'active'
    WHERE NOT EXISTS (
        SELECT 1 FROM wallet_statusentry taken
        WHERE taken.status_list_id = list.id AND taken.idx = drawn.number %% list.size
    )
    ORDER BY drawn.turn LIMIT 1
    ON CONFLICT DO NOTHING
    RETURNING status_list_id, idx
"""
# In the order drawn: any other would prefer some places. PostgreSQL knows that `turn` is sorted, so it stops
# at the first place that is free. SQLite has one writer at a time and needs no lock.
_DIALECTS = {
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
    """The credential or its wallet is suspended or revoked; perhaps only just now."""


class KeyMovedOnError(NoSigningKeyError):
    """The key does not sign any more."""


def take(
    credential: Credential, *, kid: str, reference: UUID | None, expires_at: datetime, now: datetime
) -> tuple[int, int]:
    """A place (list, index) for what is about to be presented until `expires_at`, signed by key `kid`.

    One statement, unless every place drawn was taken. Raises SetAsideError or KeyMovedOnError, and then
    there is no place.
    """
    for _ in range(TRIES):
        if taken := _take(credential.pk, UUID(kid), reference, expires_at):
            return taken
        if not _can_be_presented(credential):
            raise SetAsideError("The credential or its wallet is suspended or revoked.")
        if not SigningKey.objects.filter(pk=kid, state=SigningKey.State.ACTIVE).exists():
            raise KeyMovedOnError(f"Signing key {kid} does not sign any more.")
        upkeep.keep_open(now=now)
    raise RuntimeError("No free place in any status list.")


def _take(
    credential_id: UUID, kid: UUID, reference: UUID | None, expires_at: datetime
) -> tuple[int, int] | None:
    drawn = [number >> 1 for number in unpack(f"{DRAWN}I", secrets.token_bytes(4 * DRAWN))]
    values = [
        _stored("credential", credential_id),
        _stored("reference", reference),
        _stored("expires_at", expires_at),
        json.dumps(drawn),
        secrets.choice(upkeep.SLOTS),
        _stored("signing_key", kid),
    ]
    with connection.cursor() as cursor:
        cursor.execute(_statement(connection.vendor), values)
        place: tuple[int, int] | None = cursor.fetchone()
        return place


def _stored(column: str, value: Any) -> Any:
    field: Any = StatusEntry._meta.get_field(column)
    return field.get_db_prep_save(value, connection)


@cache
def _statement(vendor: str) -> str:
    return _TAKE.format_map(_DIALECTS[vendor])


def _can_be_presented(credential: Credential) -> bool:
    rows = Credential.objects.filter(
        pk=credential.pk, state=Credential.State.VALID, wallet__state=Wallet.State.ACTIVE
    )
    return rows.exists()
