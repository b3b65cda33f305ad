"""Makes a question to a holder, and stores the answer once: a decided question never changes.

This app knows the requester and what the page shows, but not what the answer is used for: afterwards, the
browser is redirected to `return_to`.
"""

import uuid
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, ClassVar

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Greatest

from consent.models import Consent
from consent.question import Requester, sought
from consent.transactions import seal_in
from wallet.credential import days
from wallet.credential.claims import FAMILIES, ClaimPath
from wallet.credential.inference import SharedClaim
from wallet.models import Wallet
from wallet.status_lists import changes

Paths = Sequence[Sequence[str]]  # as JSON has them

EMAIL_DUE_FOR = timedelta(days=1)  # an e-mail about an older answer would be no news


def shared_with(*, now: Any, **parties: Any) -> QuerySet[Consent]:
    """The consents by which a wallet shared with a requester; also what the requester can still collect."""
    not_ended = Q(undelivered_at=None) | Q(undelivered_at__gt=now)
    return Consent.objects.filter(not_ended, **parties, decision=Consent.Decision.GRANTED)


class AlreadyDecidedError(Exception):
    """The question was answered before; `decision` is the answer, `switched_on` what it switched on."""

    def __init__(self, decision: str, switched_on: Paths) -> None:
        super().__init__(decision)
        self.decision = decision
        self.switched_on = switched_on


class ExpiredError(Exception):
    """The question expired before it was answered."""


@dataclass(frozen=True)
class Sharing:
    """The time at which a wallet last shared with a requester, the claims, and the day of their values."""

    COLUMNS: ClassVar = (
        "decided_at",
        "asked_at",
        "minutes_ahead",
        "claims",
        "optional_claims",
        "switched_on",
    )

    at: datetime
    day: date
    claims: frozenset[ClaimPath]

    @classmethod
    def from_columns(
        cls,
        decided_at: datetime,
        asked_at: datetime,
        minutes_ahead: int,
        claims: Paths,
        optional_claims: Paths,
        switched_on: Paths,
    ) -> "Sharing":
        """From the COLUMNS of a consent that was granted."""
        day = days.as_asked(asked_at, minutes_ahead)
        return cls(decided_at, day, frozenset(shared(claims, optional_claims, switched_on)))


def question(
    *,
    wallet: Wallet,
    requester: Requester,
    claims: Iterable[Sequence[str]],
    optional: Iterable[Sequence[str]] = (),
    told: Iterable[Sequence[str]] = (),
    transactions: Iterable[object],
    transaction_hashes: Sequence[str],
    now: datetime,
    **facts: Any,
) -> Consent:
    """A question to the holder of `wallet`, not stored yet; its page is `consent_review` with its ID.

    optional: those of `claims` that the holder may leave off. told: the claims of which a yes tells something
    without sharing them. transactions: `blocks.Transaction`s as JSON. transaction_hashes: the hash of the
    value of each, as received. facts: further columns of `Consent`.
    Raises `question.QuestionFormatError` for values that the page cannot show.
    """
    consent = Consent(
        wallet=wallet,
        requester=requester.to_json(),
        requester_sought=sought(f"{requester.name}\n{requester.domain}"),
        claims=[list(path) for path in claims],
        optional_claims=[list(path) for path in optional],
        told=[list(path) for path in told],
        email_due=wallet.share_emails,
        asked_at=now,
        transactions=[],
        **facts,
    )
    if transaction_hashes:
        seal_in(consent, transactions, transaction_hashes)
    return consent


def grant(
    consent_id: uuid.UUID, wallet: Wallet, *, switched_on: Iterable[Sequence[str]] = (), now: datetime
) -> None:
    """Store that the holder shares. Raises `LookupError`, `AlreadyDecidedError` or `ExpiredError`.

    switched_on: the optional claims that are shared too, read by `switches`.
    """
    _decide(consent_id, wallet, Consent.Decision.GRANTED, [list(path) for path in switched_on], now=now)


def decline(consent_id: uuid.UUID, wallet: Wallet, *, now: datetime) -> None:
    """Store that the holder declines. Raises `LookupError`, `AlreadyDecidedError` or `ExpiredError`."""
    _decide(consent_id, wallet, Consent.Decision.DECLINED, [], now=now)


def withdraw(consent_id: uuid.UUID, *, now: datetime) -> bool:
    """End an open question, so that nobody can answer it any more. False if it was answered or has ended."""
    still_open = Consent.objects.filter(id=consent_id, decision=Consent.Decision.ASKED, expires_at__gt=now)
    # Not `now`: a thread that read the clock a moment earlier would still find the question open.
    return still_open.update(expires_at=F("asked_at")) == 1


def extend(consent_id: uuid.UUID, *, until: datetime, now: datetime) -> bool:
    """Give the holder until then to answer; returns False if the question is answered or has expired.

    A question is never shortened, nor extended beyond what it was asked with.
    """
    still_open = Consent.objects.filter(
        id=consent_id,
        expires_at__gt=now,
        extendable_until__gte=until,
        decision=Consent.Decision.ASKED,
    )
    return still_open.update(expires_at=Greatest("expires_at", until)) == 1


def note_undelivered(*consents: uuid.UUID, now: datetime) -> None:
    """Store that nothing was shared although the holder agreed, so that the receipts say so."""
    shared_with(id__in=consents, now=now).update(undelivered_at=now)


def let_collect(consent_id: uuid.UUID, *, until: datetime) -> None:
    """Store that the requester can collect what was shared until then, with a code.

    Until then it counts as shared. Unless `collect` comes first, it counts as undelivered afterwards.
    """
    granted = Consent.objects.filter(id=consent_id, decision=Consent.Decision.GRANTED, undelivered_at=None)
    granted.update(undelivered_at=until)


def is_collectable(consent: Consent, *, now: datetime) -> bool:
    """Whether the requester can still collect what was shared, and has not."""
    return consent.undelivered_at is not None and consent.undelivered_at > now


def collect(consent_id: uuid.UUID, *, now: datetime) -> bool:
    """Store that the requester collects what was shared. False if it cannot any more: see `take_back`."""
    return Consent.objects.filter(id=consent_id, undelivered_at__gt=now).update(undelivered_at=None) == 1


@transaction.atomic
def take_back(wallet: Wallet, consent_id: uuid.UUID, *, now: datetime) -> None:
    """Invalidate what the holder shared. What is not collected yet cannot be collected any more.

    Of this and `collect` at the same time, the one that changes the row first wins.
    """
    collectable = Consent.objects.filter(id=consent_id, wallet=wallet, undelivered_at__gt=now)
    # Not `now`: an exchange that read the clock a moment earlier would still find the answer collectable.
    collectable.update(undelivered_at=F("decided_at"))
    with suppress(changes.NothingToChangeError):  # it is invalid already, or has expired
        changes.take_back(wallet, consent_id, now=now)


def granted_for(consent: Consent, *, request_hash: str, wallet: Wallet, agrees: bool = False) -> bool:
    """Whether this holder agreed to this very request, or agrees to it now."""
    wanted = Consent.Decision.ASKED if agrees else Consent.Decision.GRANTED
    return (
        consent.decision == wanted and consent.request_hash == request_hash and consent.wallet_id == wallet.pk
    )


def shared(claims: Paths, optional: Paths, switched_on: Paths) -> list[tuple[str, ...]]:
    """Those of `claims` that saying yes shares, as paths: the required ones, and those switched on."""
    withheld = [path for path in optional if path not in switched_on]
    return [tuple(path) for path in claims if path not in withheld]


def shared_by(consent: Consent) -> list[tuple[str, ...]]:
    """The paths of the claims that this consent shares, if it was granted."""
    return shared(consent.claims, consent.optional_claims, consent.switched_on)


def last_shared(wallet: Wallet, requester_id: str, *, now: datetime) -> Sharing | None:
    """What a wallet last shared with a requester."""
    rows = shared_with(wallet=wallet, requester_id=requester_id, now=now).order_by("-decided_at")
    columns = rows.values_list(*Sharing.COLUMNS).first()
    return None if columns is None else Sharing.from_columns(*columns)


def told_by(consent: Consent) -> list[ClaimPath]:
    """The paths of all claims of which a yes tells something: those that it shares, and others."""
    return list(dict.fromkeys([*shared_by(consent), *map(tuple, consent.told)]))


def answers_by(consent: Consent) -> list[SharedClaim]:
    """What the yes to this question told, each with the day of its value."""
    return _answers(consent, shared_by(consent))


def answers_asked(consent: Consent) -> list[SharedClaim]:
    """What a yes to this question would tell at most, with all that is optional."""
    return _answers(consent, consent.claims)


def _answers(consent: Consent, claims: Paths) -> list[SharedClaim]:
    """The answers that these claims give, and those that the consent tells without sharing the claim.

    Of the second kind only ages and nationalities count: with them, what is told is the whole answer.
    """
    day = days.as_asked(consent.asked_at, consent.minutes_ahead)
    questions = [path for path in consent.told if path[0] in FAMILIES]
    return [SharedClaim(path, day) for path in dict.fromkeys(map(tuple, [*claims, *questions]))]


def answers_to(requester_id: str, wallet: Wallet, *, now: datetime) -> list[SharedClaim]:
    """What a requester was told by a wallet so far, and what it can still collect with a code."""
    records = shared_with(wallet=wallet, requester_id=requester_id, now=now)
    columns = ("asked_at", "minutes_ahead", "claims", "optional_claims", "switched_on", "told")
    return [answer for consent in records.only(*columns) for answer in answers_by(consent)]


def _decide(consent_id: uuid.UUID, wallet: Wallet, decision: str, chosen: Paths, *, now: datetime) -> None:
    """Store the answer by one conditional update, so that of concurrent answers only the first counts."""
    still_open = Consent.objects.filter(
        id=consent_id, wallet=wallet, decision=Consent.Decision.ASKED, expires_at__gt=now
    )
    if still_open.update(decision=decision, decided_at=now, switched_on=chosen) == 1:
        return
    rows = Consent.objects.filter(id=consent_id, wallet=wallet)
    row = rows.values_list("decision", "switched_on").first()
    if row is None:
        raise LookupError
    if row[0] == Consent.Decision.ASKED:
        raise ExpiredError
    raise AlreadyDecidedError(*row)
