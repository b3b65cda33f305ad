"""Writes a question, and an answer, in one statement each."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import structlog
from django.db import IntegrityError, OperationalError, connection, transaction
from psycopg import errors
from psycopg.types.json import Jsonb

from consent.models import Consent
from presentation.models import Interaction
from presentation.requests.fast_path.columns import Columns
from presentation.requests.fast_path.reading import StatusIndex
from wallet.credential.credentials import Term
from wallet.models import Credential

log = structlog.get_logger(__name__)
# The server has undone the statement, and the connection lives on. After any other OperationalError nobody
# knows whether the statement was committed.
_UNDONE = (errors.LockNotAvailable, errors.QueryCanceled, errors.DeadlockDetected)

_interaction, _consent = Columns(Interaction, "interaction"), Columns(Consent, "consent")

_QUESTION = f"""
    WITH question AS (INSERT INTO consent_consent ({_consent.inserted}) VALUES ({_consent.placeholders}))
    INSERT INTO presentation_interaction ({_interaction.inserted}) VALUES ({_interaction.placeholders})
"""  # noqa: S608 (names of columns only)

# Each part waits for the one before it. The holder's rows are locked first, as by every process that locks
# them and then their consents. No index serves a condition that is written with IS TRUE: without statistics,
# as in a new or restored database, PostgreSQL may choose a worse one than that of the key, for good.
_ANSWER = """
    WITH holder AS MATERIALIZED (
        SELECT credential.id FROM wallet_credential credential
        JOIN wallet_wallet wallet ON wallet.id = credential.wallet_id
        WHERE credential.id = %(credential)s AND wallet.id = %(wallet)s
        AND credential.state = 'valid' AND wallet.state = 'active'
        AND wallet.closes_at IS NULL AND wallet.closed_at IS NULL
        FOR SHARE
    ),
    unused AS MATERIALIZED (
        SELECT FROM presentation_pushedrequest
        WHERE digest = %(handle_digest)s AND used_at IS NULL
        FOR UPDATE
    ),
    granted AS (
        UPDATE consent_consent
        SET decision = 'granted', decided_at = %(now)s, switched_on = %(switched_on)s
        WHERE id = %(consent)s
        AND (wallet_id = %(wallet)s AND decision = 'asked' AND expires_at > %(now)s) IS TRUE
        AND EXISTS (SELECT FROM holder)
        AND (%(handle_digest)s = '' OR EXISTS (SELECT FROM unused))
        RETURNING 1
    ),
    given AS (
        INSERT INTO wallet_statusentry
            (status_list_id, idx, credential_id, signing_key_id, reference, status, expires_at)
        SELECT list.id, %(index)s, holder.id, signs.id, %(consent)s, 0, %(token_ends)s
        FROM holder
        JOIN wallet_statuslist list ON list.id = %(list)s AND list.closed_at IS NULL
        JOIN keys_signingkey signs ON signs.id = %(signing_key)s AND signs.state = 'active'
        WHERE EXISTS (SELECT FROM granted)
        ON CONFLICT DO NOTHING
        RETURNING 1
    ),
    closed AS (
        UPDATE presentation_interaction
        SET outcome = 'token', error = '', answered_at = %(now)s,
            parameters = '{}', sealed_transaction_data = NULL, errand_id = NULL
        WHERE id = %(interaction)s AND outcome = '' AND EXISTS (SELECT FROM given)
        RETURNING 1
    ),
    used AS (
        UPDATE presentation_pushedrequest
        SET used_at = %(now)s, parameters = '{}', sealed_transaction_data = NULL
        WHERE digest = %(handle_digest)s AND EXISTS (SELECT FROM closed)
    )
    SELECT EXISTS (SELECT FROM granted), EXISTS (SELECT FROM given), EXISTS (SELECT FROM closed)
"""


def write_question(consent: Consent, interaction: Interaction) -> None:
    """Inserts a question to a holder together with the new interaction that asks it, or neither."""
    if connection.vendor != "postgresql":
        question_by_orm(consent, interaction)
        return
    with connection.cursor() as cursor:
        cursor.execute(_QUESTION, _consent.parameters(consent) | _interaction.parameters(interaction))
    for row in (consent, interaction):
        row._state.adding, row._state.db = False, connection.alias


def question_by_orm(consent: Consent, interaction: Interaction) -> None:
    """The same as `write_question`, by Django's ORM."""
    with transaction.atomic():
        consent.save(force_insert=True)
        interaction.save(force_insert=True)


def write_answer(
    interaction: Interaction,
    credential: Credential,
    index: StatusIndex,
    term: Term,
    *,
    switched_on: Sequence[Sequence[str]],
    now: datetime,
) -> bool:
    """Stores the holder's yes, gives the presentation its index in a status list, and closes the interaction.

    index: that `read_interaction_rows` found free. term: of the presentation that was made for it. Only on
    PostgreSQL. False if not all of it could be written: then nothing is, or the yes, or the yes and the
    index, and the way step by step goes on from there. Raises OperationalError or InterfaceError if nobody
    knows whether it was written, as after a lost connection.
    """
    parameters = {
        "credential": credential.pk,
        "wallet": credential.wallet_id,
        "consent": interaction.consent_id,
        "interaction": interaction.pk,
        "handle_digest": interaction.parameters.get("request_uri", ""),  # if the request was pushed
        "switched_on": Jsonb(list(switched_on)),
        "list": index[0],
        "index": index[1],
        "signing_key": UUID(term.issuer_key.kid),
        "token_ends": term.expires_at,
        "now": now,
    }
    try:
        with connection.cursor() as cursor:
            cursor.execute(_ANSWER, parameters)
            return all(cursor.fetchone())
    except IntegrityError:  # the nonce gave a token meanwhile
        return False
    except OperationalError as error:
        if not isinstance(error.__cause__, _UNDONE):
            raise
        reason = type(error.__cause__).__name__
        log.warning("answer_not_written_at_once", interaction=str(interaction.pk), reason=reason)
        return False
