"""Finds the wallet or the request that an e-mail address, a receipt number or another reference names.

Only whole values find something, apart from the eight characters by which error lists name a request.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Model, QuerySet

from consent.models import Consent
from infra import email_addresses
from infra.admin.row_ids import as_id
from infra.mail import outbox
from infra.typed_digits import plain
from presentation.models import Interaction
from presentation.webhooks.models import WebhookEvent
from wallet.models import Credential, FormerAddress, IdentityVerification, Recovery, Wallet
from wallet.providers.in_person import as_case_number

LONGEST = email_addresses.LONGEST
_SHORT = re.compile(r"[0-9a-f]{8}")
MOST_ASKED = 25
_SHORT_SHOWN = 5  # requests whose ID has the same beginning; more than one is improbable


@dataclass(frozen=True)
class SearchResult:
    """What was found. address: that of the wallet, or of nobody yet, if the operator searched for it.

    Without a wallet: the request, the consent or the e-mails belong to nobody yet, or to nobody any more.
    """

    wallet: Wallet | None = None
    consent: Consent | None = None
    interactions: tuple[Interaction, ...] = ()
    address: str = ""

    @property
    def subject(self) -> Model | None:
        """The row that the record of the search names."""
        return self.wallet or (self.interactions[0] if self.interactions else self.consent)


def find(term: str, *, now: datetime) -> SearchResult | None:
    """What the text names; None if nothing."""
    term = term.strip()
    if "@" in term:
        return _by_address(term, now)
    term = plain(term)
    if _SHORT.fullmatch(term.lower()) and (result := _by_beginning(term.lower())):
        return result
    if number := as_case_number(term):
        wallet = _wallets().filter(verifications__provider_reference=number).first()
        return SearchResult(wallet) if wallet else None
    return _by_id(wanted) if (wanted := as_id(term)) else None


def _by_address(term: str, now: datetime) -> SearchResult | None:
    """The wallet of an address, or the one that left it not long ago."""
    try:
        address = email_addresses.parse(term)
    except email_addresses.EmailAddressError:
        return None
    interactions = _asked_for(address, now)
    if wallet := _wallets().filter(email=address).first():
        return SearchResult(wallet, interactions=interactions, address=address)
    left = FormerAddress.objects.filter(email=address, expires_at__gt=now, closed_at=None)
    if wallet := _wallets().filter(former_addresses__in=left).first():
        return SearchResult(wallet)
    # Somebody who has not signed in yet, perhaps because no code arrives.
    waits = interactions or outbox.written_to(address, until=now).exists()
    return SearchResult(interactions=interactions, address=address) if waits else None


def _asked_for(address: str, now: datetime) -> tuple[Interaction, ...]:
    """The newest open requests that name this address; nobody has proved that it is theirs."""
    open_ones = _requests().filter(outcome=Interaction.Outcome.NONE, expires_at__gt=now)
    return tuple(open_ones.filter(parameters__login_hint__iexact=address)[:MOST_ASKED])


def _by_beginning(start: str) -> SearchResult | None:
    least, greatest = UUID(start + "0" * 24), UUID(start + "f" * 24)
    rows = _requests().filter(id__gte=least, id__lte=greatest)[:_SHORT_SHOWN]
    return _of_requests(tuple(rows))


def _by_id(wanted: UUID) -> SearchResult | None:
    if wallet := _wallets().filter(id=wanted).first():
        return SearchResult(wallet)
    if consent := Consent.objects.select_related("wallet__credential").filter(id=wanted).first():
        return SearchResult(consent.wallet, consent, tuple(_requests().filter(consent=consent)))
    if result := _of_requests(tuple(_requests().filter(id=wanted))):
        return result
    if event := WebhookEvent.objects.filter(id=wanted).first():
        # Of a revocation the request is not known: its subject is a place in a list.
        request = as_id(event.subject)
        return _of_requests(tuple(_requests().filter(id=request))) if request else None
    for model, way in ((IdentityVerification, "wallet"), (Credential, "wallet"), (Recovery, "old")):
        owners = model.objects.filter(id=wanted).values(way)
        if wallet := _wallets().filter(id__in=owners).first():
            return SearchResult(wallet)
    return None


def _of_requests(interactions: tuple[Interaction, ...]) -> SearchResult | None:
    if not interactions:
        return None
    first = interactions[0].consent
    return SearchResult(first.wallet if first else None, first, interactions)


def _wallets() -> QuerySet[Wallet]:
    return Wallet.objects.select_related("credential").order_by("-created_at")


def _requests() -> QuerySet[Interaction]:
    """Requests without their parameters, which hold an e-mail address."""
    rows = Interaction.objects.select_related("relying_party", "consent__wallet__credential", "delivery")
    return rows.defer("parameters", "sealed_transaction_data").order_by("-created_at")
