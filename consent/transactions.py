"""What is kept of a question's transactions: type, title and hash in clear, everything else sealed.

The hash is the one that the key binding carries (`transaction_data_hashes`): SHA-256 of the value as it was
received. So a relying party that shows the value can be told whether a record is about it, also after the
content was erased.
"""

import json
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import structlog

from consent.models import Consent
from consent.question import Transaction
from infra.sealing import SealError, seal, unseal

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class KeptTransaction:
    """One transaction of a record. `shown` is None when its content was erased or does not open."""

    kind: str
    title: str
    hash: str  # empty in records that were written before the hash was kept
    shown: Transaction | None


def seal_in(consent: Consent, transactions: Iterable[object], hashes: Sequence[str]) -> None:
    """Put the transactions of a new question into its row, which is not saved yet.

    `transactions` are `Transaction`s as JSON, each with the hash of its value. Raises `QuestionFormatError`.
    """
    shown = [Transaction.from_json(transaction) for transaction in transactions]
    consent.transactions = [
        {"kind": transaction.kind, "title": transaction.title, "hash": value_hash}
        for transaction, value_hash in zip(shown, hashes, strict=True)
    ]
    if shown:
        plain = json.dumps([transaction.to_json() for transaction in shown], ensure_ascii=False)
        consent.sealed_transactions = seal(plain.encode(), context=_context(consent.pk))


def shown(consent: Consent) -> tuple[Transaction, ...]:
    """The transactions as the holder was or is shown them; raises `SealError` when they do not open."""
    if not consent.transactions:
        return ()
    plain = unseal(consent.sealed_transactions or b"", context=_context(consent.pk))
    return tuple(Transaction.from_json(transaction) for transaction in json.loads(plain))


def kept(consent: Consent) -> tuple[KeptTransaction, ...]:
    """What is left of the transactions of a record, whether or not their content is still there."""
    contents: Sequence[Transaction | None] = [None] * len(consent.transactions)
    if consent.erased_at is None:
        try:
            contents = shown(consent)
        except SealError as error:
            log.warning("transaction_does_not_open", consent=str(consent.pk), reason=str(error))
    # Without a hash are those that an instance of an older release wrote while it was being replaced.
    return tuple(
        KeptTransaction(clear["kind"], clear["title"], clear.get("hash", ""), content)
        for clear, content in zip(consent.transactions, contents, strict=True)
    )


def years_until_erased(consent: Consent) -> int | None:
    """After how many whole years the content was erased; None if it was not."""
    asked, erased = consent.asked_at, consent.erased_at
    if erased is None:
        return None
    begun = (erased.month, erased.day, erased.time()) < (asked.month, asked.day, asked.time())
    return erased.year - asked.year - begun


def _context(pk: uuid.UUID) -> str:
    return Consent.SEALED["sealed_transactions"].format(pk=pk)
