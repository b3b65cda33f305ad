"""A receipt as a signed statement, for its holder to save, print and show: names of claims, never values."""

from datetime import datetime
from typing import Any

import segno
from django.conf import settings
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from segno import DataOverflowError

from consent.receipts import Receipt
from keys import statements
from keys.issuer_key import CANNOT_SIGN

TYP = "receipt-statement+jwt"
LONGEST = 16_384  # characters


def of(receipt: Receipt, *, now: datetime) -> str:
    """The statement; empty while statements cannot be signed."""
    consent = receipt.consent
    answer = "shared" if receipt.shared else "not delivered" if receipt.undelivered else "not shared"
    facts: dict[str, Any] = {
        "receipt": str(consent.id),
        "requester": {
            "client_id": consent.requester_id,
            "name": receipt.requester.name,
            "domain": receipt.requester.domain,
        },
        "claims": receipt.names,
        "answer": answer,
        "answered_at": int(consent.decided_at.timestamp()) if consent.decided_at else None,
        "transaction_data_hashes": [each.hash for each in receipt.transactions if each.hash],
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
        code = segno.make_qr(f"{settings.BASE_URL}{reverse('receipt_check')}#{statement}", error="l")
    except DataOverflowError:
        return mark_safe("")
    image = code.svg_inline(omitsize=True, svgclass=None, lineclass=None, light="#fff")
    return mark_safe(image)  # noqa: S308
