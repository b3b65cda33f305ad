"""A receipt as a signed statement, for its holder to save, print and show: names of claims, never values."""

from datetime import datetime
from typing import Any

from django.conf import settings
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from segno import DataOverflowError

from consent.receipts import Receipt
from keys import statements
from keys.issuer_key import CANNOT_SIGN
from wallet.providers import in_person

TYP = "receipt-statement+jwt"
LONGEST = 16_384  # characters


def of(receipt: Receipt, *, now: datetime) -> str:
    """The statement; empty while statements cannot be signed, and while the requester can still collect it.

    A statement is genuine for ever, so it must not say what may change.
    """
    if receipt.collectable:
        return ""
    consent, asker = receipt.consent, receipt.requester
    answer = "shared" if receipt.shared else "not delivered" if receipt.undelivered else "not shared"
    facts: dict[str, Any] = {
        "receipt": str(consent.id),
        "requester": {"client_id": consent.requester_id, "name": asker.name, "domain": asker.domain},
        "claims": receipt.names,
        "answer": answer,
        "answered_at": int(consent.decided_at.timestamp()) if consent.decided_at else None,
        "transaction_data_hashes": [
            transaction.hash for transaction in receipt.transactions if transaction.hash
        ],
    }
    try:
        return statements.sign(TYP, facts, now=now, with_chain=False)
    except CANNOT_SIGN:
        return ""


def read(token: str) -> dict[str, Any]:
    """What a statement says; raises `StatementError` unless this service signed it."""
    return statements.read(token.strip(), TYP, longest=LONGEST)


def qr_code(statement: str) -> SafeString:
    """The address that checks the statement, as an SVG image; empty if it is too long for one.

    The statement is behind `#`, so that a browser sends it only when the page posts it.
    """
    try:
        return in_person.qr_code(f"{settings.BASE_URL}{reverse('receipt_check')}#{statement}")
    except DataOverflowError:
        return mark_safe("")
