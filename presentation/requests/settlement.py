"""The holder's yes and the answer in one statement, for the requests that need no more than that.

`answers` stores the yes, takes a place in a status list and closes the interaction by a statement each, step
by step. Here the presentation is minted first, for a place that was read as free, and then one
statement does all three, each on the condition that the one before it changed its row. Where that is not
possible, or another request was first, the request goes on step by step.
"""

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from typing import Any
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, IntegrityError, connections, transaction

from consent import decisions
from consent.decisions import Paths
from consent.models import Consent
from infra import log_context
from infra.database.kept_connections import kept_cursor
from keys.issuer_key import CANNOT_SIGN
from keys.private_keys.signer import SignerUnavailableError
from presentation.errors import AuthorizationError, UntrustedRequestError
from presentation.models import Interaction
from presentation.requests import answers
from presentation.requests.carriers import pushed_requests
from presentation.requests.interactions import OpenInteraction
from presentation.requests.next_step import Step, next_step
from wallet.credential import credentials
from wallet.credential.credentials import Term
from wallet.models import Credential, HolderSession
from wallet.status_lists import allocation

Place = tuple[int, int]
CANNOT_ANSWER = (
    AuthorizationError,
    UntrustedRequestError,
    credentials.CredentialNotUsableError,
    SignerUnavailableError,
    *CANNOT_SIGN,
)
# The lock on the holder's rows comes first, as for every process that locks them and then their consents.
# `handle` has a row if the request was not pushed, or its handle is unused.
_SETTLE = """
    WITH holder AS MATERIALIZED ({holder}),
    handle AS MATERIALIZED ({handle}),
    granted AS ({grant} AND EXISTS (SELECT FROM holder) AND EXISTS (SELECT FROM handle) RETURNING 1),
    placed AS ({place} RETURNING 1),
    closed AS ({close} AND EXISTS (SELECT FROM placed) RETURNING 1){use_up}
    SELECT (SELECT count(*) FROM granted) + (SELECT count(*) FROM placed) + (SELECT count(*) FROM closed)
"""
_NOT_PUSHED = "SELECT %s"
_UNUSED = "SELECT 1 FROM presentation_pushedrequest WHERE digest = %s AND used_at IS NULL FOR UPDATE"


def answer_at_once(
    opened: OpenInteraction,
    session: HolderSession,
    place: Place | None,
    *,
    switched_on: Paths,
    now: datetime,
) -> dict[str, str] | None:
    """Stores that the holder shares, closes the interaction, and returns the parameters of the answer.

    place: what `allocation.FREE_PLACE` found. switched_on: the optional claims that the holder shares too.
    None if `answers` has to go on step by step: nothing is stored then, or the yes, or the yes and the place.
    """
    row, party = opened.row, opened.relying_party
    if place is None or _needs_more(opened):
        return None
    try:
        ready = next_step(opened, session, now=now, agrees=True)
        if ready.step is not Step.ANSWER:
            return None
        match, consent = answers.presentable(opened, ready)
        shared = decisions.shared(consent.claims, consent.optional_claims, switched_on)
        wanted = answers.what_to_present(opened, match, consent, shared)
        if len(wanted) != 1:  # each needs a place in a status list
            return None
        presentation, term = credentials.present_at(place, match.credential, *wanted[0], now=now)
        opened.checked_address  # noqa: B018 (raises if it is no longer registered)
    except CANNOT_ANSWER:  # `answers` meets the same error, and reports it
        return None
    values = {"id": consent.id, "wallet": session.wallet_id, "now": now, "decided_at": now}
    grant = values | {"decision": Consent.Decision.GRANTED, "switched_on": switched_on}
    if not _settle(grant, match.credential, term, place, row, now=now):
        return None
    log_context.bind(outcome="answered", interaction=str(row.id), client_id=party.client_id)
    return answers.with_tokens([presentation], match, party)


def _needs_more(opened: OpenInteraction) -> bool:
    """Whether closing the interaction has to write other rows too."""
    return opened.return_address.posted or answers.notifies(opened.row)


def _settle(
    grant: dict[str, Any],
    credential: Credential,
    term: Term,
    place: Place,
    row: Interaction,
    *,
    now: datetime,
) -> bool:
    """Whether all rows were written. On PostgreSQL in one statement, on SQLite in one transaction."""
    connection = connections[DEFAULT_DB_ALIAS]
    ids = (credential.pk, credential.wallet_id)
    holder = [allocation.stored("credential", one) for one in ids]
    granting, granted = decisions.ANSWER.statement(grant)
    last = answers.closing(row, Interaction.Outcome.TOKEN, now=now)
    closing, closed = answers.CLOSE.statement(last)
    handle = row.parameters.get("request_uri")  # its digest, if the request was pushed
    using, used = "", list[Any]()
    if handle:
        using, used = pushed_requests.USE_UP.statement(pushed_requests.using_up(handle, now=now))
    placed = [
        place[1],
        allocation.stored("reference", grant["id"]),
        allocation.stored("expires_at", term.expires_at),
        place[0],
        allocation.stored("signing_key", UUID(term.issuer_key.kid)),
    ]
    try:
        if connection.vendor == "postgresql":
            cursor = kept_cursor(connection)
            values = [*holder, handle or 1, *granted, *placed, *closed, *used]
            cursor.execute(_composed(granting, closing, using), values)
            return bool(cursor.fetchone()[0] == 3)
        steps = [(granting, granted), (_placing(connection.vendor), [*holder, *placed]), (closing, closed)]
        return _one_by_one([*steps, (using, used)] if using else steps)
    except IntegrityError:  # the nonce gave a token meanwhile
        return False


@cache
def _composed(granting: str, closing: str, using: str) -> str:
    dialect = allocation.DIALECTS["postgresql"]
    place = allocation.AT_PLACE.format_map(
        {**dialect, "holder": "holder", "condition": "EXISTS (SELECT FROM granted)"}
    )
    return _SETTLE.format(
        holder=allocation.HOLDER.format_map(dialect),
        handle=_UNUSED if using else _NOT_PUSHED,
        grant=granting,
        place=place,
        close=closing,
        use_up=f",\n    used AS ({using} AND EXISTS (SELECT FROM closed))" if using else "",
    )


@cache
def _placing(vendor: str) -> str:
    dialect = allocation.DIALECTS[vendor]
    holder = f"holder AS MATERIALIZED ({allocation.HOLDER.format_map(dialect)})"
    place = allocation.AT_PLACE.format_map({**dialect, "holder": "holder", "condition": "TRUE"})
    return f"WITH {holder} {place}"


def _one_by_one(statements: Sequence[tuple[str, list[Any]]]) -> bool:
    """Executes them until one changes no row."""
    with transaction.atomic(), connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        for sql, parameters in statements:
            cursor.execute(f"{sql} RETURNING 1", parameters)
            if cursor.fetchone() is None:
                return False
    return True
