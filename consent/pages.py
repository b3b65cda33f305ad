"""What pages show of a question: before the answer with the values of the claims, afterwards without."""

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Self

from django.conf import settings

from consent import decisions, transactions
from consent.approval import LONGEST_NAME, Approval
from consent.blocks import Transaction
from consent.decisions import Sharing
from consent.models import Consent
from consent.question import Requester
from consent.transactions import KeptTransaction
from infra.moments import day_of
from wallet import claims, credentials
from wallet.claims import ClaimPreview
from wallet.deadlines import Deadline
from wallet.models import Credential
from wallet.status_lists.standing import Status

# Without form-action: browsers apply it to redirects after a form too, and the answer goes to another origin.
REVIEW_CSP = {name: sources for name, sources in settings.SECURE_CSP.items() if name != "form-action"}


@dataclass(frozen=True)
class Question:
    """An unanswered question as its page shows it."""

    consent: Consent
    transactions: tuple[Transaction, ...]
    claims: tuple[ClaimPreview, ...]
    optional: frozenset[tuple[str, ...]]  # claims that are shared only if they are switched on
    last_shared_at: datetime | None
    new: frozenset[tuple[str, ...]]  # claims that were not shared the last time
    deadline: Deadline

    @classmethod
    def of(cls, consent: Consent, credential: Credential, before: Sharing | None) -> Self:
        """The question about the claims of `credential`; ages are those of the day on which it was asked.

        before: the last time at which the holder shared with the requester. Raises `SealError` if the
        identity or the transactions cannot be unsealed.
        """
        paths = [tuple(path) for path in consent.claims]
        return cls(
            consent=consent,
            transactions=transactions.shown(consent),
            claims=tuple(credentials.preview(credential, paths, today=day_of(consent.asked_at))),
            last_shared_at=before.at if before else None,
            optional=frozenset(map(tuple, consent.optional_claims)),
            new=frozenset(set(paths) - before.claims) if before else frozenset(),
            deadline=Deadline(consent.expires_at, consent.extendable_until, consent.return_to),
        )

    @cached_property
    def requester(self) -> Requester:
        return Requester.from_json(self.consent.requester)

    @property
    def not_shared(self) -> tuple[str, ...]:
        """The labels of what the wallet keeps to itself."""
        return tuple(map(str, claims.not_shared([claim.path for claim in self.claims])))

    @property
    def always_shared(self) -> tuple[str, ...]:
        """The labels of the claims that are shared whatever the holder switches on."""
        return tuple(str(claim.label) for claim in self.claims if claim.path not in self.optional)

    @property
    def consequential(self) -> bool:
        return any(transaction.consequential for transaction in self.transactions)

    @property
    def name_is_long(self) -> bool:
        """Whether the name of the requester would make a button too high."""
        return len(self.requester.name) > LONGEST_NAME

    @cached_property
    def approval(self) -> Approval | None:
        """The payments that heading and button name; None if there are none, or their facts are unknown."""
        return Approval.of(self.requester, self.transactions) if self.transactions else None


@dataclass(frozen=True)
class Receipt:
    """An answered question as the holder's receipts show it: with the names of claims, never their values."""

    consent: Consent
    requester: Requester
    transactions: tuple[KeptTransaction, ...]
    claims: tuple[str, ...]  # labels
    kept_off: tuple[str, ...]  # labels of optional claims that were not switched on
    status: Status | None  # of the presented credential; None if there is none, or it has expired

    @classmethod
    def of(cls, consent: Consent, status: Status | None = None, *, with_content: bool = True) -> Self:
        """with_content: whether to unseal the content of the transactions."""
        agreed = consent.decision == Consent.Decision.GRANTED
        chosen = decisions.shared_by(consent) if agreed else [tuple(path) for path in consent.claims]
        left_off = [path for path in map(tuple, consent.optional_claims) if path not in chosen]
        return cls(
            consent=consent,
            requester=Requester.from_json(consent.requester),
            transactions=transactions.kept(consent) if with_content else transactions.titles(consent),
            claims=tuple(map(_label, chosen)),
            kept_off=tuple(map(_label, left_off)),
            status=status,
        )

    @property
    def taken_back(self) -> bool:
        return self.shared and self.status == Status.INVALID

    @property
    def can_be_taken_back(self) -> bool:
        """Whether the holder can invalidate what was shared; never if it was not delivered."""
        return self.shared and self.status in (Status.VALID, Status.SUSPENDED)

    @property
    def paid(self) -> bool:
        """Whether there is a payment among what was asked."""
        return any(transaction.amount for transaction in self.transactions)

    @property
    def shared(self) -> bool:
        return self.consent.decision == Consent.Decision.GRANTED and not self.undelivered

    @property
    def undelivered(self) -> bool:
        return self.consent.undelivered_at is not None

    @property
    def erased_after(self) -> int | None:
        """The years after which the content of the transactions was erased; None if it was not."""
        return transactions.years_until_erased(self.consent)


def _label(path: tuple[str, ...]) -> str:
    """The label of a claim; for one that is no longer issued, its name on the wire."""
    try:
        return str(claims.labels([path])[0])
    except KeyError:
        return ".".join(path)
