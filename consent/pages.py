"""What the pages show of a question: with the values of the claims while it is asked, without them after."""

from dataclasses import dataclass
from datetime import datetime
from typing import Self

from django.conf import settings
from django.utils.timezone import localdate

from consent import decisions, transactions
from consent.models import Consent
from consent.question import Requester, Transaction
from consent.transactions import KeptTransaction
from wallet import claims, credentials
from wallet.credentials import ClaimPreview
from wallet.models import Credential
from wallet.status_lists.standing import Status

# Browsers apply form-action to the redirects that follow a form, and the answer goes to another origin.
REVIEW_CSP = {name: sources for name, sources in settings.SECURE_CSP.items() if name != "form-action"}


@dataclass(frozen=True)
class Question:
    """An open question as its holder reads it."""

    consent: Consent
    requester: Requester
    transactions: tuple[Transaction, ...]
    claims: tuple[ClaimPreview, ...]
    not_shared: tuple[str, ...]  # labels
    last_shared_at: datetime | None
    new: frozenset[tuple[str, ...]]  # claims that were not shared the last time

    @classmethod
    def of(cls, consent: Consent, credential: Credential) -> Self:
        """One query: when the holder last shared with whoever asks. Ages are those of the day of asking.

        Raises `SealError` when the identity or the transactions do not open.
        """
        paths = [tuple(path) for path in consent.claims]
        before = decisions.last_shared(credential.wallet, consent.requester_id)
        return cls(
            consent=consent,
            requester=Requester.from_json(consent.requester),
            transactions=transactions.shown(consent),
            claims=tuple(credentials.preview(credential, paths, today=localdate(consent.asked_at))),
            not_shared=tuple(str(label) for label in claims.not_shared(paths)),
            last_shared_at=before.at if before else None,
            new=frozenset(set(paths) - before.claims) if before else frozenset(),
        )

    @property
    def consequential(self) -> bool:
        return any(transaction.consequential for transaction in self.transactions)


@dataclass(frozen=True)
class Receipt:
    """An answered question as its holder reads it later: names of claims, never their values."""

    consent: Consent
    requester: Requester
    transactions: tuple[KeptTransaction, ...]
    claims: tuple[str, ...]  # labels
    status: Status | None  # of what was shared; None once it has ended, or when nothing was

    @classmethod
    def of(cls, consent: Consent, status: Status | None = None) -> Self:
        return cls(
            consent=consent,
            requester=Requester.from_json(consent.requester),
            transactions=transactions.kept(consent),
            claims=tuple(_label(tuple(path)) for path in consent.claims),
            status=status,
        )

    @property
    def taken_back(self) -> bool:
        return self.shared and self.status == Status.INVALID

    @property
    def can_be_taken_back(self) -> bool:
        """Only what was shared: a yes that came to nothing may have made a credential that nobody got."""
        return self.shared and self.status in (Status.VALID, Status.SUSPENDED)

    @property
    def shared(self) -> bool:
        return self.consent.decision == Consent.Decision.GRANTED and not self.undelivered

    @property
    def undelivered(self) -> bool:
        return self.consent.undelivered_at is not None

    @property
    def erased_after(self) -> int | None:
        """The years after which what the transactions said was erased; None if it was not."""
        return transactions.years_until_erased(self.consent)


def _label(path: tuple[str, ...]) -> str:
    """What people call a claim; for a claim that is no longer issued, the name it had on the wire."""
    try:
        return str(claims.labels([path])[0])
    except KeyError:
        return ".".join(path)
