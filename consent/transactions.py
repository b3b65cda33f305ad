"""The transactions in a record: type, title and hash in clear, and the whole content sealed.

The hash is the SHA-256 of the value as received, as in the key binding (`transaction_data_hashes`). With the
value from a relying party, an operator can find out whether a record is about it, even after the content was
erased.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import structlog
from django.utils.translation import gettext

from consent.blocks import Amount, Items, Transaction
from consent.models import Consent
from consent.question import QuestionFormatError
from infra.sealing import SealError, seal_column, unseal_column

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class KeptTransaction:
    """One transaction of a record. `shown` is None if its content was erased, cannot be unsealed or read."""

    kind: str
    title: str
    hash: str  # empty in records from before the hash was stored
    shown: Transaction | None

    @property
    def amount(self) -> str:
        """What is paid, such as “950.00 USD”; empty if it is no payment, or its content was erased."""
        blocks = self.shown.blocks if self.shown else ()
        amounts = [str(block.value) for block in blocks if isinstance(block, Amount)]
        totals = [str(block.total[1]) for block in blocks if isinstance(block, Items)]
        return next(iter(amounts + totals), "")

    @property
    def payee(self) -> str:
        """Who is paid; empty if the requester named nobody, or the content was erased."""
        return self.shown.payment.payee if self.shown and self.shown.payment else ""


def seal_in(consent: Consent, transactions: Iterable[object], hashes: Sequence[str]) -> None:
    """Set the fields of an unsaved row for these transactions.

    transactions: `Transaction`s as JSON. hashes: the hash of the value of each. Raises `QuestionFormatError`.
    """
    shown = [Transaction.from_json(transaction) for transaction in transactions]
    consent.transactions = [
        {"kind": transaction.kind, "title": transaction.title, "hash": value_hash}
        for transaction, value_hash in zip(shown, hashes, strict=True)
    ]
    if shown:
        plain = json.dumps([transaction.to_json() for transaction in shown], ensure_ascii=False)
        consent.sealed_transactions = seal_column(consent, "sealed_transactions", plain.encode())


def shown(consent: Consent) -> tuple[Transaction, ...]:
    """The transactions as the page shows them; raises `SealError` if they cannot be unsealed."""
    if not consent.transactions:
        return ()
    plain = unseal_column(consent, "sealed_transactions")
    return tuple(Transaction.from_json(transaction) for transaction in json.loads(plain))


def kept(consent: Consent, *, with_content: bool = True) -> tuple[KeptTransaction, ...]:
    """The transactions of a record. with_content: whether to unseal it, where it is not erased."""
    contents: Sequence[Transaction | None] = [None] * len(consent.transactions)
    if with_content and consent.erased_at is None:
        try:
            contents = shown(consent)
        except (SealError, QuestionFormatError) as error:
            log.warning("transaction_does_not_open", consent=str(consent.pk), reason=str(error))
    # Records of version 0.1 have no hash.
    return tuple(
        KeptTransaction(clear["kind"], gettext(clear["title"]), clear.get("hash", ""), content)
        for clear, content in zip(consent.transactions, contents, strict=True)
    )


def years_until_erased(consent: Consent) -> int | None:
    """The number of whole years after which the content was erased; None if it was not."""
    asked_at, erased_at = consent.asked_at, consent.erased_at
    if erased_at is None:
        return None
    begun = (erased_at.month, erased_at.day, erased_at.time()) < (
        asked_at.month,
        asked_at.day,
        asked_at.time(),
    )
    return erased_at.year - asked_at.year - begun
