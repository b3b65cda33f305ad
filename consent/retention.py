"""The personal data in this app's tables, why it is stored, and for how long."""

from datetime import datetime

from django.conf import settings

from consent import clearing, decisions
from consent.retention_words import PEOPLE
from infra.retention import Clearing, Due, table


def _transactions(*, now: datetime, batch: int) -> int:
    return clearing.erase_transactions(asked_before=_years_ago(now), now=now, batch=batch)


def _old_transactions(now: datetime) -> list[Due]:
    old = _years_ago(now)
    return [Due(clearing.with_transactions(old), "asked_at", old)]


def _years_ago(now: datetime) -> datetime:
    return clearing.years_before(now, settings.TRANSACTION_RETENTION_YEARS)


ENTRIES = table(
    """
consent.Consent: requester_id requester requester_sought claims optional_claims switched_on request_hash
    return_to decision | consent record: who asked, names of claims, hash of the request, the answer | in
    clear; never a claim’s value | it is what you and the holder have in writing | for
    ever; without the holder once the wallet is closed
consent.Consent: email_due | consent record: whether an e-mail about the answer is to be sent | in clear |
    holders who switched these e-mails on get one for each answer | until it was sent, {email_kept} at most
consent.Consent: transactions | consent record: type, title and hash of each transaction | in clear | to
    tell which transaction a record is about | for ever
consent.Consent: requester_id requester requester_sought claims optional_claims request_hash return_to
    transactions |
    question that nobody answered | as a consent record | the person may come back to the page |
    {unanswered_kept} after it expired | questions
consent.Consent: sealed_transactions | consent record: what the holder was shown of each transaction
    (amounts, accounts, payer, payee, reference, device) | sealed | receipts show it; afterwards they and
    the admin say that it was erased, and when | {years} calendar years after the question; until the wallet
    is closed unless `TRANSACTION_LEGAL_HOLD` is set | transactions
""",
    periods={
        "email_kept": decisions.EMAIL_DUE_FOR,
        "unanswered_kept": clearing.UNANSWERED_KEPT,
        "years": "TRANSACTION_RETENTION_YEARS",
    },
    clear={
        "questions": Clearing(clearing.clear_unanswered, clearing.unanswered),
        "transactions": Clearing(_transactions, _old_transactions),
    },
    people=PEOPLE,
)
