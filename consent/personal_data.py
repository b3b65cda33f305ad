"""What this app puts into the download of a holder’s data, and how it takes the person out of its records."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice
from typing import Any

from django.conf import settings
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from consent import receipts
from consent.models import Consent
from consent.receipts import Receipt
from infra.personal_data import Entry, Person, Section, in_batches
from wallet.models import Wallet

BATCH = 200


def receipt_entries(person: Person, *, now: datetime) -> Iterator[Entry]:
    """The receipts with the transactions as they were shown, the newest first."""
    for wallet in Wallet.objects.filter(id=person.id):
        decided = wallet.consents.filter(decided_at__isnull=False)
        consents = in_batches(decided, "-decided_at", "pk", batch=BATCH)
        while page := list(islice(consents, BATCH)):
            yield from map(_entry, receipts.of(wallet, page, now=now))


def _entry(receipt: Receipt) -> Entry:
    consent, requester = receipt.consent, receipt.requester
    left_off = [name for name in map(".".join, consent.claims) if name not in receipt.names]
    return {
        "id": str(consent.id),
        "asked_at": consent.asked_at.isoformat(),
        "answered_at": consent.decided_at.isoformat() if consent.decided_at else None,
        "answer": _answer(receipt),
        "taken_back": receipt.taken_back,
        "deletion_asked_at": consent.deletion_asked_at.isoformat() if consent.deletion_asked_at else None,
        "requester": {
            "name": requester.name,
            "client_id": consent.requester_id,
            "domain": requester.domain,
            "purpose": requester.purpose or None,
            "privacy_policy": requester.privacy_policy_url or None,
        },
        "claims": _claims(receipt.names, receipt.claims),
        "told": _claims(map(".".join, consent.told), receipt.told) if receipt.told else [],
        "left_off": _claims(left_off, receipt.kept_off),
        "transactions": [_transaction(transaction) for transaction in receipt.transactions],
        "transactions_erased_at": consent.erased_at.isoformat() if consent.erased_at else None,
    }


def _answer(receipt: Receipt) -> str:
    if receipt.collectable:
        return "not collected yet"
    return "shared" if receipt.shared else "undelivered" if receipt.undelivered else "declined"


def _claims(names: Iterable[str], labels: Iterable[str]) -> list[Entry]:
    return [{"name": name, "label": label} for name, label in zip(names, labels, strict=True)]


def _transaction(kept: Any) -> Entry:
    return {
        "type": kept.kind,
        "title": kept.title,
        "hash": kept.hash or None,
        "shown": kept.shown.to_json()["blocks"] if kept.shown else None,
    }


SECTIONS = (
    Section(
        "receipts",
        _("Your receipts"),
        receipt_entries,
        template="consent/receipt_in_download.html",
    ),
)


def erase_receipts(person: Person, *, now: datetime, batch: int) -> int:
    """Take the person out of every record: the wallet, and what transactions said unless a law holds it."""
    records, erased = Consent.objects.filter(wallet=person.id), 0
    while ids := list(records.order_by("id").values_list("id", flat=True)[:batch]):
        rows = records.filter(id__in=ids)
        if not settings.TRANSACTION_LEGAL_HOLD:
            rows.exclude(sealed_transactions=None).update(sealed_transactions=None, erased_at=now)
        erased += rows.update(wallet=None, email_due=False)
    return erased


ERASERS = (erase_receipts,)


def _receipts(person: Person) -> str:
    count = Consent.objects.filter(wallet=person.id).count()
    said = ngettext(
        "<strong>{}</strong> consent record loses its holder.",
        "<strong>{}</strong> consent records lose their holder.",
        count,
    )
    return format_html(said, count)


def _transactions(person: Person) -> str:
    count = Consent.objects.filter(wallet=person.id, sealed_transactions__isnull=False).count()
    if settings.TRANSACTION_LEGAL_HOLD:
        said = ngettext(
            "The transactions of <strong>{}</strong> record stay until their retention ends (legal hold).",
            "The transactions of <strong>{}</strong> records stay until their retention ends (legal hold).",
            count,
        )
    else:
        said = ngettext(
            "The transactions of <strong>{}</strong> record are erased.",
            "The transactions of <strong>{}</strong> records are erased.",
            count,
        )
    return format_html(said, count)


def _merge(source: Wallet, into: Wallet) -> None:
    """Give all consent records of `source` to `into`; nothing else of them changes."""
    Consent.objects.filter(wallet=source).update(wallet=into)


COUNTS = (_receipts, _transactions)
MERGERS = (_merge,)
