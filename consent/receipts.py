"""Finds the receipts of one wallet, page by page, newest first.

A page begins after the last receipt of the one before (keyset pagination), so the last page of ten thousand
receipts is found as fast as the first. Every query is limited to one wallet first, by the index
`consent_receipts_in_order`; the search then compares the text that `decisions` stores with each question.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Self
from uuid import UUID

from django.db.models import Q, QuerySet

from consent.models import Consent
from consent.question import sought
from wallet.models import Wallet

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
class Place:
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
    older: Place | None
    newer: Place | None


def page(wallet: Wallet, search: Search, *, older: Place | None = None, newer: Place | None = None) -> Page:
    """The receipts after the place `older`, or before the place `newer`; otherwise the newest. One query,
    and a second where fewer than a page are newer: then these are the first page."""
    rows = found(wallet, search)
    if newer and not older:
        first = list(rows.filter(_newer(newer)).order_by("decided_at", "id")[: PAGE_SIZE + 1])
        if len(first) >= PAGE_SIZE:
            shown = first[:PAGE_SIZE][::-1]
            return Page(shown, Place.of(shown[-1]), Place.of(shown[0]) if len(first) > PAGE_SIZE else None)
    after = rows.filter(_older(older)) if older else rows
    first = list(after.order_by("-decided_at", "-id")[: PAGE_SIZE + 1])
    shown = first[:PAGE_SIZE]
    return Page(
        shown,
        Place.of(shown[-1]) if len(first) > PAGE_SIZE else None,
        Place.of(shown[0]) if older and shown else None,
    )


def found(wallet: Wallet, search: Search) -> QuerySet[Consent]:
    """The answered questions of this wallet that match."""
    rows = Consent.objects.filter(wallet=wallet, decided_at__isnull=False)
    if search.since:
        rows = rows.filter(decided_at__gte=search.since)
    if search.until:
        rows = rows.filter(decided_at__lt=search.until)
    if search.requester:
        # Rows that an instance of the release before wrote during an update have no text to search.
        unfilled = Q(requester__name__icontains=search.requester)
        unfilled |= Q(requester__domain__icontains=search.requester)
        text = Q(requester_sought__contains=sought(search.requester))
        rows = rows.filter(text | Q(unfilled, requester_sought=""))
    return rows


def _older(place: Place) -> Q:
    # The first condition alone limits what the index reads.
    same = Q(decided_at=place.decided_at, id__lt=place.id)
    return Q(decided_at__lte=place.decided_at) & (Q(decided_at__lt=place.decided_at) | same)


def _newer(place: Place) -> Q:
    same = Q(decided_at=place.decided_at, id__gt=place.id)
    return Q(decided_at__gte=place.decided_at) & (Q(decided_at__gt=place.decided_at) | same)
