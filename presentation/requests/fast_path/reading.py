"""Reads all that a request of a browser needs, in one statement."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any
from uuid import UUID

import orjson
from django.db import connection

from consent import decisions
from consent.decisions import Sharing
from consent.models import Consent
from presentation.models import Interaction, PushedRequest, RedirectURI, RelyingParty, ResponseURI
from presentation.requests.fast_path.columns import Columns
from presentation.scopes import catalogue
from wallet.models import Credential, HolderSession, Wallet
from wallet.sign_in import sessions
from wallet.status_lists import allocation

StatusIndex = tuple[int, int]  # a status list and an index in it


@dataclass(frozen=True)
class RequestRows:
    """What an authorization request needs. Who may use which of it, the caller has to check.

    nonce_digest, request_hash: of the request; of a pushed one as it was pushed. redirect_uris,
    response_uris: those that are registered. nonce_used: whether the nonce gave this relying party a token.
    begun: the newest interaction of this browser with this very request. scopes_stamp: tells whether the
    scopes in memory are those of the database. last_shared: what the holder of the session last shared with
    this relying party.
    """

    nonce_digest: str
    request_hash: str
    session: HolderSession | None = None
    pushed: PushedRequest | None = None
    relying_party: RelyingParty | None = None
    redirect_uris: tuple[str, ...] = ()
    response_uris: tuple[str, ...] = ()
    nonce_used: bool = False
    begun: UUID | None = None
    scopes_stamp: int | None = None
    last_shared: Sharing | None = None


@dataclass(frozen=True)
class InteractionRows:
    """What an interaction that goes on needs. Its relying party and its consent are read with it.

    registered_uris: of its relying party, of the kind to which the interaction is answered. free_index: an
    index of a status list that was free, if one was asked for.
    """

    session: HolderSession | None = None
    interaction: Interaction | None = None
    registered_uris: tuple[str, ...] = ()
    free_index: StatusIndex | None = None


_session, _wallet = Columns(HolderSession, "session"), Columns(Wallet, "wallet")
_credential = Columns(Credential, "credential")
_party, _pushed = Columns(RelyingParty, "party"), Columns(PushedRequest, "pushed")
_interaction, _consent = Columns(Interaction, "interaction"), Columns(Consent, "consent")

# The session of a browser with its wallet and credential. Conditions on the wallet are checked afterwards:
# without statistics PostgreSQL would search the wallets by them.
_SESSION = """
    LEFT JOIN wallet_holdersession session
        ON session.digest = %(session_digest)s
        AND session.expires_at > %(now)s
        AND session.last_seen_at > %(idle_since)s
    LEFT JOIN wallet_wallet wallet ON wallet.id = session.wallet_id
    LEFT JOIN wallet_credential credential ON credential.wallet_id = wallet.id
"""

_REQUEST = f"""
    SELECT
        {_session.selected}, {_wallet.selected}, {_credential.selected},
        {_pushed.selected}, {_party.selected},
        shared.decided_at, shared.asked_at, shared.minutes_ahead,
        shared.claims, shared.optional_claims, shared.switched_on,
        ARRAY(SELECT uri FROM presentation_redirecturi WHERE relying_party_id = party.id),
        ARRAY(SELECT uri FROM presentation_responseuri WHERE relying_party_id = party.id),
        EXISTS (
            SELECT FROM presentation_interaction same
            WHERE same.relying_party_id = party.id
            AND same.nonce_digest = asked.nonce_digest
            AND same.outcome = 'token'
        ),
        (
            SELECT same.id FROM presentation_interaction same
            WHERE same.relying_party_id = party.id
            AND same.nonce_digest = asked.nonce_digest
            AND same.browser = %(browser)s
            AND same.request_hash = asked.request_hash
            ORDER BY same.created_at DESC LIMIT 1
        ),
        (SELECT sum(stamp) FROM presentation_scope)
    FROM (SELECT 1) AS one
    LEFT JOIN presentation_pushedrequest pushed ON pushed.digest = %(handle_digest)s
    LEFT JOIN presentation_relyingparty party ON party.client_id = %(client_id)s
    CROSS JOIN LATERAL (
        SELECT
            COALESCE(pushed.nonce_digest, %(nonce_digest)s) AS nonce_digest,
            COALESCE(pushed.request_hash, %(request_hash)s) AS request_hash
    ) asked
    {_SESSION}
    LEFT JOIN LATERAL (
        SELECT * FROM consent_consent consent
        WHERE consent.wallet_id = wallet.id
        AND consent.requester_id = %(client_id)s
        AND consent.decision = 'granted'
        AND (consent.undelivered_at IS NULL OR consent.undelivered_at > %(now)s)
        ORDER BY consent.decided_at DESC LIMIT 1
    ) shared ON TRUE
"""  # noqa: S608 (names of columns only)

_INTERACTION = f"""
    SELECT
        {_session.selected}, {_wallet.selected}, {_credential.selected},
        {_interaction.selected}, {_party.selected}, {_consent.selected},
        CASE WHEN interaction.response_uri = ''
            THEN ARRAY(SELECT uri FROM presentation_redirecturi WHERE relying_party_id = party.id)
            ELSE ARRAY(SELECT uri FROM presentation_responseuri WHERE relying_party_id = party.id)
        END,
        free.list, free.idx
    FROM (SELECT 1) AS one
    LEFT JOIN presentation_interaction interaction ON interaction.id = %(id)s
    LEFT JOIN presentation_relyingparty party ON party.id = interaction.relying_party_id
    LEFT JOIN consent_consent consent ON consent.id = interaction.consent_id
    {_SESSION}
    LEFT JOIN LATERAL (
        SELECT list.id AS list, drawn.number %% list.size AS idx
        FROM unnest(CAST(translate(%(drawn)s, '[]', '{{}}') AS integer[]))
            WITH ORDINALITY drawn (number, turn)
        JOIN wallet_statuslist list ON list.slot = %(slot)s AND list.closed_at IS NULL
        WHERE NOT EXISTS (
            SELECT FROM wallet_statusentry taken
            WHERE taken.status_list_id = list.id AND taken.idx = drawn.number %% list.size
        )
        ORDER BY drawn.turn LIMIT 1
    ) free ON TRUE
"""  # noqa: S608 (names of columns only)


def read_request_rows(
    client_id: str,
    *,
    nonce_digest: str,
    request_hash: str,
    handle_digest: str = "",
    browser: str = "",
    session_digest: str = "",
    now: datetime,
) -> RequestRows:
    """All that an authorization request of this client needs.

    nonce_digest, request_hash: of the request. handle_digest: of the handle of a pushed one, which has its
    own. browser: digest of its cookie; session_digest: of the session's. Empty ones find nothing.
    """
    if connection.vendor != "postgresql":
        return request_by_orm(
            client_id,
            nonce_digest=nonce_digest,
            request_hash=request_hash,
            handle_digest=handle_digest,
            browser=browser,
            session_digest=session_digest,
            now=now,
        )
    parameters: dict[str, Any] = {
        "client_id": client_id,
        "nonce_digest": nonce_digest,
        "request_hash": request_hash,
        "handle_digest": handle_digest,
        "browser": browser,
        "session_digest": session_digest,
        "now": now,
        "idle_since": now - sessions.IDLE,
    }
    with connection.cursor() as cursor:
        cursor.execute(_REQUEST, parameters)
        row = iter(cursor.fetchone())
    return _request_in(row, nonce_digest=nonce_digest, request_hash=request_hash)


def _request_in(row: Iterator[Any], *, nonce_digest: str, request_hash: str) -> RequestRows:
    session = _session_in(row)
    pushed, party, last_shared = _pushed.instance(row), _party.instance(row), _sharing_in(row)
    redirect_uris, response_uris, nonce_used, begun, scopes_stamp = row
    return RequestRows(
        nonce_digest=pushed.nonce_digest if pushed else nonce_digest,
        request_hash=pushed.request_hash if pushed else request_hash,
        session=session,
        pushed=pushed,
        relying_party=party,
        redirect_uris=tuple(redirect_uris),
        response_uris=tuple(response_uris),
        nonce_used=nonce_used,
        begun=begun,
        scopes_stamp=scopes_stamp,
        last_shared=last_shared,
    )


def request_by_orm(
    client_id: str,
    *,
    nonce_digest: str,
    request_hash: str,
    handle_digest: str,
    browser: str,
    session_digest: str,
    now: datetime,
) -> RequestRows:
    """As `read_request_rows`, by Django's ORM."""
    session = sessions.find(session_digest, now=now)
    pushed = PushedRequest.objects.filter(digest=handle_digest).first()
    if pushed is not None:
        nonce_digest, request_hash = pushed.nonce_digest, pushed.request_hash
    party = RelyingParty.objects.filter(client_id=client_id).first()
    interactions = Interaction.objects.filter(relying_party=party, nonce_digest=nonce_digest)
    same = interactions.filter(browser=browser, request_hash=request_hash).order_by("-created_at")
    return RequestRows(
        nonce_digest=nonce_digest,
        request_hash=request_hash,
        session=session,
        pushed=pushed,
        relying_party=party,
        redirect_uris=_uris(RedirectURI, party),
        response_uris=_uris(ResponseURI, party),
        nonce_used=interactions.filter(outcome=Interaction.Outcome.TOKEN).exists(),
        begun=same.values_list("id", flat=True).first(),
        scopes_stamp=catalogue.stamp(),
        last_shared=decisions.last_shared(session.wallet, client_id, now=now) if session else None,
    )


def read_interaction_rows(
    interaction_id: UUID, *, session_digest: str = "", wants_index: bool = False, now: datetime
) -> InteractionRows:
    """All that an interaction needs to go on. wants_index: also read a free index in a status list."""
    if connection.vendor != "postgresql":
        return interaction_by_orm(interaction_id, session_digest=session_digest, now=now)
    drawn = allocation.draw() if wants_index else {"drawn": "[]", "slot": 0}
    parameters = {
        "id": interaction_id,
        "session_digest": session_digest,
        "now": now,
        "idle_since": now - sessions.IDLE,
        **drawn,
    }
    with connection.cursor() as cursor:
        cursor.execute(_INTERACTION, parameters)
        row = iter(cursor.fetchone())
    session = _session_in(row)
    interaction, party, consent = _interaction.instance(row), _party.instance(row), _consent.instance(row)
    uris, status_list, index = row
    if interaction is not None and party is not None:
        interaction.relying_party, interaction.consent = party, consent
    return InteractionRows(
        session=session,
        interaction=interaction,
        registered_uris=tuple(uris),
        free_index=None if status_list is None else (status_list, index),
    )


def interaction_by_orm(interaction_id: UUID, *, session_digest: str, now: datetime) -> InteractionRows:
    """As `read_interaction_rows`, by Django's ORM; without a free index, which is then taken later."""
    interactions = Interaction.objects.select_related("relying_party", "consent")
    interaction = interactions.filter(id=interaction_id).first()
    uris: tuple[str, ...] = ()
    if interaction is not None:
        kind = ResponseURI if interaction.response_uri else RedirectURI
        uris = _uris(kind, interaction.relying_party)
    session = sessions.find(session_digest, now=now)
    return InteractionRows(session=session, interaction=interaction, registered_uris=uris)


def _session_in(row: Iterator[Any]) -> HolderSession | None:
    # Each helper takes the next columns, so they are called in the order of the SELECT.
    session, wallet, credential = _session.instance(row), _wallet.instance(row), _credential.instance(row)
    if session is None or wallet is None:
        return None
    session.wallet = wallet
    if credential is not None:
        credential.wallet = wallet  # Django keeps the way back as well, since each wallet has one credential
    return session


def _sharing_in(row: Iterator[Any]) -> Sharing | None:
    decided_at, asked_at, minutes_ahead, *paths = islice(row, len(Sharing.COLUMNS))
    if decided_at is None:
        return None
    return Sharing.from_columns(decided_at, asked_at, minutes_ahead, *map(orjson.loads, paths))


def _uris(model: type[RedirectURI] | type[ResponseURI], party: RelyingParty | None) -> tuple[str, ...]:
    return tuple(model.objects.filter(relying_party=party).values_list("uri", flat=True)) if party else ()
