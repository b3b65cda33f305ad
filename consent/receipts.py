"""Finds the receipts of one wallet, page by page, newest first.

A page begins after the last receipt of the one before (keyset pagination), so the last page of ten thousand
receipts is found as fast as the first. Every query is limited to one wallet first, by the index
`consent_receipts_in_order`; the search then compares the text that `decisions` stores with each question.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Self
from uuid import UUID

from django.db.models import Q, QuerySet

from consent import decisions, transactions
from consent.models import Consent
from consent.question import Requester, sought
from consent.transactions import KeptTransaction
from wallet.credential import claims
from wallet.models import Wallet
from wallet.status_lists.statuses import Status, statuses_of

PAGE_SIZE = 20
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PLACE = re.compile(r"([0-9]{1,17})\.([0-9a-f]{32})")


@dataclass(frozen=True)
class Search:
    """What to find. requester: part of a name or a domain. since, until: the time of the answer."""

    requester: str = ""
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True)
class Cursor:
    """The place of a receipt in the list. As text it is part of an address, and tells nothing else."""

    decided_at: datetime
    id: UUID

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """The place in an address; None for any other text."""
        if not (parts := _PLACE.fullmatch(text)):
            return None
        return cls(_EPOCH + timedelta(microseconds=int(parts[1])), UUID(parts[2]))

    @classmethod
    def of(cls, consent: Consent) -> Self:
        if consent.decided_at is None:
            raise ValueError("an unanswered question has no receipt")
        return cls(consent.decided_at, consent.id)

    def __str__(self) -> str:
        return f"{(self.decided_at - _EPOCH) // timedelta(microseconds=1)}.{self.id.hex}"


@dataclass(frozen=True)
class Page:
    """Receipts, and the places at which the older and the newer ones begin; None if there are none."""

    rows: list[Consent]
    older: Cursor | None
    newer: Cursor | None


def page(wallet: Wallet, search: Search, *, older: Cursor | None = None, newer: Cursor | None = None) -> Page:
    """The receipts after the place `older`, or before the place `newer`; otherwise the newest. One query,
    and a second where fewer than a page are newer: then these are the first page."""
    rows = matching(wallet, search)
    if newer and not older:
        first = list(rows.filter(_newer(newer)).order_by("decided_at", "id")[: PAGE_SIZE + 1])
        if len(first) >= PAGE_SIZE:
            shown = first[:PAGE_SIZE][::-1]
            return Page(shown, Cursor.of(shown[-1]), Cursor.of(shown[0]) if len(first) > PAGE_SIZE else None)
    after = rows.filter(_older(older)) if older else rows
    first = list(after.order_by("-decided_at", "-id")[: PAGE_SIZE + 1])
    shown = first[:PAGE_SIZE]
    return Page(
        shown,
        Cursor.of(shown[-1]) if len(first) > PAGE_SIZE else None,
        Cursor.of(shown[0]) if older and shown else None,
    )


def matching(wallet: Wallet, search: Search) -> QuerySet[Consent]:
    """The answered questions of this wallet that match."""
    rows = Consent.objects.filter(wallet=wallet, decided_at__isnull=False)
    if search.since:
        rows = rows.filter(decided_at__gte=search.since)
    if search.until:
        rows = rows.filter(decided_at__lt=search.until)
    if search.requester:
        rows = rows.filter(requester_sought__contains=sought(search.requester))
    return rows


def _older(place: Cursor) -> Q:
    # The first condition alone limits what the index reads.
    same = Q(decided_at=place.decided_at, id__lt=place.id)
    return Q(decided_at__lte=place.decided_at) & (Q(decided_at__lt=place.decided_at) | same)


def _newer(place: Cursor) -> Q:
    same = Q(decided_at=place.decided_at, id__gt=place.id)
    return Q(decided_at__gte=place.decided_at) & (Q(decided_at__gt=place.decided_at) | same)


@dataclass(frozen=True)
class Receipt:
    """An answered question as the holder's receipts show it: with the names of claims, never their values."""

    consent: Consent
    requester: Requester
    transactions: tuple[KeptTransaction, ...]
    names: tuple[str, ...]  # of the claims, on the wire
    claims: tuple[str, ...]  # labels
    told: tuple[str, ...]  # labels of further claims of which the answer tells something
    kept_off: tuple[str, ...]  # labels of optional claims that were not switched on
    recognition: str  # who got the number to recognise the holder by, in words; empty if nobody
    status: Status | None  # of the presented credential; None if there is none, or it has expired
    collectable: bool  # whether the requester can still collect what was shared, and has not

    @classmethod
    def of(
        cls, consent: Consent, status: Status | None = None, *, now: datetime, with_content: bool = True
    ) -> Self:
        """with_content: whether to unseal the content of the transactions."""
        agreed = consent.decision == Consent.Decision.GRANTED
        chosen = decisions.shared_by(consent) if agreed else [tuple(path) for path in consent.claims]
        left_off = [path for path in map(tuple, consent.optional_claims) if path not in chosen]
        requester = Requester.from_json(consent.requester)
        has_number = claims.SUBJECT in chosen or requester.number_once
        collectable = decisions.is_collectable(consent, now=now)
        got_it = agreed and (collectable or not consent.undelivered_at)
        return cls(
            consent=consent,
            requester=requester,
            transactions=transactions.kept(consent, with_content=with_content),
            names=tuple(map(".".join, chosen)),
            claims=tuple(map(label, chosen)),
            told=tuple(label(tuple(path)) for path in consent.told) if got_it else (),
            kept_off=tuple(map(label, left_off)),
            recognition=requester.recognition if has_number and got_it else "",
            status=status,
            collectable=collectable,
        )

    @property
    def taken_back(self) -> bool:
        return self.shared and self.status == Status.INVALID

    @property
    def can_be_taken_back(self) -> bool:
        """Whether the holder can invalidate what was shared, or can be collected; never if undelivered."""
        return (self.shared or self.collectable) and self.status in (Status.VALID, Status.SUSPENDED)

    @property
    def ended_uncollected(self) -> bool:
        """Whether it was invalidated before the requester collected it, so that nothing was shared."""
        return self.undelivered and self.status == Status.INVALID

    @property
    def payment(self) -> KeptTransaction | None:
        """The payment that was asked; None if there is none, or if there are several."""
        payments = [transaction for transaction in self.transactions if transaction.amount]
        return payments[0] if len(payments) == 1 else None

    @property
    def paid(self) -> bool:
        """Whether there is a payment among what was asked."""
        return any(transaction.amount for transaction in self.transactions)

    @property
    def shared(self) -> bool:
        return self.consent.decision == Consent.Decision.GRANTED and self.consent.undelivered_at is None

    @property
    def undelivered(self) -> bool:
        """Whether the holder agreed, and nothing was shared, and nothing can be any more."""
        return self.consent.undelivered_at is not None and not self.collectable

    @property
    def erased_after(self) -> int | None:
        """The years after which the content of the transactions was erased; None if it was not."""
        return transactions.years_until_erased(self.consent)


def of(wallet: Wallet, consents: Sequence[Consent], *, now: datetime) -> list[Receipt]:
    """The receipts of these consents of a wallet, with the status of what was presented."""
    statuses = statuses_of(wallet, [consent.id for consent in consents], now=now)
    return [Receipt.of(consent, statuses.get(consent.id), now=now) for consent in consents]


def label(path: tuple[str, ...]) -> str:
    """The label of a claim; for one that is no longer issued, its name on the wire."""
    try:
        return str(claims.labels([path])[0])
    except KeyError:
        return ".".join(path)
