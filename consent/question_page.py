"""The page of a question, which `consent/review.html` renders.

That template caches the fragments that are the same for everybody who gets the question (`{% cache %}`).
"""

import re
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import cached_property
from hashlib import sha256
from typing import Self

from django.conf import settings
from django.http import HttpRequest
from django.template.loader import render_to_string

from consent import decisions, transactions
from consent.approval import Approval
from consent.blocks import Transaction
from consent.decisions import Sharing
from consent.models import Consent
from consent.question import Requester
from infra.paths import path_with_id
from wallet.credential import claims, credentials, days
from wallet.credential.claims import ClaimPath, ClaimPreview
from wallet.credential.inference import Fact
from wallet.deadlines import Deadline
from wallet.models import Credential

_NEXT_SENTENCE = re.compile(r"(?<=[.!?]) (?=[A-Z¿¡“«])")  # so that “e.g. this” ends none
TEMPLATE = "consent/review.html"
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
    adds_up: tuple[Fact, ...] = ()  # what the answers say together with each other and with earlier ones
    told: tuple[ClaimPath, ...] = ()  # claims of which the answer tells something without sharing them

    @classmethod
    def of(cls, consent: Consent, credential: Credential, before: Sharing | None, *, now: datetime) -> Self:
        """The question about the claims of `credential`; ages are those of the day on which it was asked.

        before: the last time at which the holder shared with the requester. Raises `SealError` if the
        identity or the transactions cannot be unsealed.
        """
        paths = [tuple(path) for path in consent.claims]
        today = days.as_asked(consent.asked_at, consent.minutes_ahead)
        previews = credentials.preview(credential, paths, today=today)
        if claims.SUBJECT in paths:
            words = Requester.from_json(consent.requester).recognition
            previews = [replace(one, value=words) if one.path == claims.SUBJECT else one for one in previews]
        return cls(
            consent=consent,
            transactions=transactions.shown(consent) if consent.transactions else (),
            claims=tuple(previews),
            last_shared_at=before.at if before else None,
            optional=frozenset(map(tuple, consent.optional_claims)),
            new=frozenset(set(paths) - before.claims) if before else frozenset(),
            deadline=Deadline(consent.expires_at, consent.extendable_until, consent.return_to),
            adds_up=tuple(_adds_up(consent, credential, before, today=today, now=now)),
            told=tuple([tuple(path) for path in consent.told]),
        )

    @cached_property
    def requester(self) -> Requester:
        return Requester.from_json(self.consent.requester)

    @cached_property
    def same_for_everybody(self) -> str:
        """The key under which fragments of the page are cached, together with the language.

        It stands for all that these fragments may show: what the relying party registered, and the names of
        the claims. It is a digest, because Django makes its keys with MD5, and an author can find two texts
        with the same MD5.
        """
        shown = (
            self.requester,
            self.consent.requester_id,
            self.consent.requester_since,
            self.consent.requester_is_unchecked,
            [claim.path for claim in self.claims],
            self.told,
        )
        return sha256(repr(shown).encode()).hexdigest()

    @property
    def reason(self) -> tuple[str, str]:
        """The first sentence of the purpose, which the page always shows, and the rest."""
        first, *rest = _NEXT_SENTENCE.split(self.requester.purpose, maxsplit=1)
        return first, "".join(rest)

    @property
    def not_shared(self) -> tuple[str, ...]:
        """The labels of what the answer neither shares nor tells anything about."""
        return tuple(map(str, claims.not_shared([*(claim.path for claim in self.claims), *self.told])))

    @property
    def told_of(self) -> tuple[str, ...]:
        """The labels of the claims of which the answer tells something without sharing them."""
        return tuple(map(str, claims.labels(self.told)))

    @property
    def consequential(self) -> bool:
        return any(transaction.consequential for transaction in self.transactions)

    @cached_property
    def approval(self) -> Approval | None:
        """The payments that heading and button name; None if there are none, or their facts are unknown."""
        return Approval.of(self.transactions) if self.transactions else None


def _adds_up(
    consent: Consent, credential: Credential, before: Sharing | None, *, today: date, now: datetime
) -> list[Fact]:
    """Reads earlier answers only if a question is asked that the last sharing has not answered for good."""
    questions = [tuple(path) for path in (*consent.claims, *consent.told) if path[0] in claims.FAMILIES]
    answered = [one for one in questions if before and credentials.says_again(credential, one, before.day)]
    if not questions or (before and before.claims.issuperset(questions) and answered == questions):
        return []
    earlier = decisions.answers_to(consent.requester_id, credential.wallet, now=now) if before else []
    return credentials.adds_up(credential, earlier, decisions.answers_asked(consent), today=today)


def rendered(request: HttpRequest, question: Question, *, signed_in_email: str, asks_passkey: bool) -> str:
    """The page of a question, as HTML.

    request: for the page's own address, or the authorization request, which is answered with the page.
    """
    context: dict[str, object] = {
        "question": question,
        "signed_in_email": signed_in_email,
        "asks_passkey": asks_passkey,
    }
    own_address = path_with_id("consent_review", question.consent.id)
    if request.path != own_address:
        context |= {"page_path": own_address, "this_page": own_address}
        # The query there is that of the relying party, and reports nothing about a form of this page.
        context |= {"more_time": False}
    return render_to_string(TEMPLATE, context, request)
