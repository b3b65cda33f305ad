"""Asking a holder and writing down the answer, once: a decided question never changes.

This room knows who asks and what is shown, not what the answer is for: the browser goes on to `return_to`.
"""

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from consent.models import Consent
from consent.question import Requester, Transaction
from consent.transactions import seal_in
from infra.database.prepared_statements import PreparedInsert, PreparedRead, PreparedUpdate
from wallet.models import Wallet

__all__ = [
    "AlreadyDecidedError",
    "LapsedError",
    "NotAskedError",
    "Requester",
    "Transaction",
    "ask",
    "decline",
    "grant",
    "granted_for",
    "last_shared",
    "note_undelivered",
]

_new = PreparedInsert(Consent)
_open_question = PreparedUpdate(
    lambda value: Consent.objects.filter(
        id=value("id"),
        wallet=value("wallet"),
        decision=Consent.Decision.ASKED,
        expires_at__gt=value("now"),
    ),
    "decision",
    "decided_at",
)
_granted_last = PreparedRead(
    lambda value: (
        Consent.objects.filter(
            wallet=value("wallet"),
            requester_id=value("requester"),
            decision=Consent.Decision.GRANTED,
            undelivered_at=None,
        )
        .order_by("-decided_at")
        .values_list("decided_at", "claims")[:1]
    )
)


class NotAskedError(LookupError):
    """There is no such question to this wallet."""


class AlreadyDecidedError(Exception):
    """The question was answered before; `decision` says how."""

    def __init__(self, decision: str) -> None:
        super().__init__(decision)
        self.decision = decision


class LapsedError(Exception):
    """The question was not answered in time."""


@dataclass(frozen=True)
class Sharing:
    """The last time a wallet shared with a requester: when, and which claims."""

    at: datetime
    claims: frozenset[tuple[str, ...]]


def ask(
    *,
    wallet: Wallet,
    requester_id: str,
    requester: Requester,
    claims: Iterable[Sequence[str]],
    transactions: Iterable[object],
    transaction_hashes: Sequence[str],
    request_hash: str,
    return_to: str,
    now: datetime,
    expires_at: datetime,
) -> Consent:
    """Put a question to the holder of `wallet`; the browser goes to `consent_review` with its id.

    `transactions` are `Transaction`s as JSON, `transaction_hashes` the hash of each one's value as received;
    `request_hash` names the exact request an answer is good for.
    Raises `question.QuestionFormatError` for what no page could show.
    """
    consent = Consent(
        wallet=wallet,
        requester_id=requester_id,
        requester=requester.to_json(),
        claims=[list(path) for path in claims],
        request_hash=request_hash,
        return_to=return_to,
        asked_at=now,
        expires_at=expires_at,
    )
    seal_in(consent, transactions, transaction_hashes)
    _new.run(consent)
    return consent


def grant(consent_id: uuid.UUID, wallet: Wallet, *, now: datetime) -> None:
    """Write down a yes. Raises `NotAskedError`, `AlreadyDecidedError` or `LapsedError`."""
    _decide(consent_id, wallet, Consent.Decision.GRANTED, now=now)


def decline(consent_id: uuid.UUID, wallet: Wallet, *, now: datetime) -> None:
    """Write down a no. Raises `NotAskedError`, `AlreadyDecidedError` or `LapsedError`."""
    _decide(consent_id, wallet, Consent.Decision.DECLINED, now=now)


def note_undelivered(consent_id: uuid.UUID, *, now: datetime) -> None:
    """Write down that nothing was shared in spite of a yes, so that the receipt does not say so."""
    granted = Consent.objects.filter(id=consent_id, decision=Consent.Decision.GRANTED, undelivered_at=None)
    granted.update(undelivered_at=now)


def granted_for(consent: Consent, *, request_hash: str, wallet: Wallet) -> bool:
    """Whether this holder said yes to exactly this request."""
    return (
        consent.decision == Consent.Decision.GRANTED
        and consent.request_hash == request_hash
        and consent.wallet_id == wallet.pk
    )


def last_shared(wallet: Wallet, requester_id: str) -> Sharing | None:
    """When this wallet last shared with this requester, and what; None if it never did."""
    newest = _granted_last.first(wallet=wallet.pk, requester=requester_id)
    if newest is None or newest[0] is None:
        return None
    return Sharing(at=newest[0], claims=frozenset(tuple(path) for path in newest[1]))


def _decide(consent_id: uuid.UUID, wallet: Wallet, decision: Consent.Decision, *, now: datetime) -> None:
    """One conditional statement decides a race: whoever changes the row first has answered."""
    changed = _open_question.run(id=consent_id, wallet=wallet.pk, now=now, decision=decision, decided_at=now)
    if changed == 1:
        return
    row = Consent.objects.filter(id=consent_id, wallet=wallet).values_list("decision", flat=True).first()
    if row is None:
        raise NotAskedError
    if row == Consent.Decision.ASKED:
        raise LapsedError
    raise AlreadyDecidedError(row)
