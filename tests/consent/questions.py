"""Consent questions for tests."""

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from consent import decisions
from consent.decisions import Sharing
from consent.models import Consent
from consent.question import Requester
from wallet.models import Wallet

ACME = Requester(
    name="Acme Bank",
    domain="bank.example",
    purpose="To open your account",
    privacy_policy_url="https://bank.example/privacy",
    terms_url="https://bank.example/terms",
)
BASIC = [("given_name",), ("family_name",), ("age_equal_or_over", "18")]
HASH = "QCjIGqYPYTopZ-mmPxlM6dfkBVEd2aEBinWeYfs3MNU"
WIRE: dict[str, Any] = {
    "kind": "urn:example:wire",
    "title": "Wire transfer",
    "consequential": True,
    "blocks": [
        {"block": "amount", "label": "Amount", "value": "12,500.00 EUR"},
        {"block": "rows", "heading": "To", "rows": [["Account number", "DE89 3704 0044 0532 0130 00"]]},
        {
            "block": "items",
            "heading": "Items",
            "columns": ["Item", "Quantity", "Line total"],
            "rows": [["Coffee & <b>beans</b>", "2", "25.00 EUR"]],
            "total": ["Total", "25.00 EUR"],
        },
        {"block": "quote", "text": "Invoice 2026-114"},
    ],
}


def put(wallet: Wallet, *, now: datetime | None = None, **changes: Any) -> Consent:
    """Store a question of Acme Bank to `wallet`, with `changes`."""
    now = now or timezone.now()
    question: dict[str, Any] = {
        "requester_id": "acme",
        "requester": ACME,
        "claims": BASIC,
        "transactions": [],
        "request_hash": "a" * 64,
        "return_to": "/back/to/acme/",
        "expires_at": now + timedelta(minutes=30),
    }
    question |= changes
    question.setdefault("transaction_hashes", [HASH] * len(question["transactions"]))
    consent = decisions.question(wallet=wallet, now=now, **question)
    consent.save(force_insert=True)
    return consent


def last_shared(wallet: Wallet, requester_id: str) -> Sharing | None:
    """What the page of a new question would say of the last sharing."""
    return decisions.last_shared(wallet, requester_id, now=timezone.now())


LONG = Requester(
    name="Internationale Handelsgenossenschaft für Außerordentliche Bezahlvorgänge GmbH & Co. KGaA München",
    domain="very-long-subdomain.internationale-handelsgenossenschaft.example.com",
    purpose="x" * 300,
)
