"""The page of a question: rendered once for each shape, then filled with what belongs to one person.

`consent/review.html` is the only source of the page. Django renders it with samples in the place of all that
belongs to a person; the page is cut at the samples, and only what is left of it is kept.
"""

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from functools import cached_property, lru_cache
from html import escape
from typing import Self

from django.conf import settings
from django.http import HttpRequest
from django.middleware.csrf import get_token
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import get_language, override

from consent import decisions, transactions
from consent.approval import Approval
from consent.blocks import Transaction
from consent.decisions import Sharing
from consent.models import Consent
from consent.question import Requester
from infra.paths import path_with_id
from infra.served import ServedRequest, noting
from infra.templatetags.moments import clock, moment
from wallet.credential import claims, credentials, days
from wallet.credential.claims import ClaimPath, ClaimPreview
from wallet.credential.together import Fact
from wallet.deadlines import Deadline
from wallet.models import Credential

_NEXT_SENTENCE = re.compile(r"(?<=[.!?]) (?=[A-Z¿¡“«])")  # so that “e.g. this” ends none
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
    asked = [tuple(path) for path in (*consent.claims, *consent.told) if path[0] in claims.FAMILIES]
    known = [one for one in asked if before and credentials.says_again(credential, one, before.day)]
    if not asked or (before and before.claims.issuperset(asked) and known == asked):
        return []
    earlier = decisions.answers_to(consent.requester_id, credential.wallet, now=now) if before else []
    return credentials.adds_up(credential, earlier, decisions.answers_asked(consent), today=today)


@dataclass(frozen=True)
class Pieces:
    """A page without its values: its texts in order, and between them the names of the values."""

    texts: tuple[str, ...]
    names: tuple[str, ...]

    def fill(self, values: Mapping[str, object]) -> str:
        """The page with these values, which are escaped as in a template, unless they are HTML already.

        Raises KeyError if a value is missing. Nothing is kept.
        """
        written = {name: _in_html(value) for name, value in values.items()}
        parts = [""] * (len(self.texts) + len(self.names))
        parts[::2] = self.texts
        parts[1::2] = [written[name] for name in self.names]
        return "".join(parts)


def cut(page: str, samples: Mapping[str, str]) -> Pieces:
    """The page without its samples: what was rendered in the place of each value, by the value's name.

    Samples must be such that nothing else on the page can be equal to them. Raises ValueError.
    """
    names = {sample: name for name, sample in samples.items()}
    found = re.split(f"({'|'.join(map(re.escape, names))})", page)
    if missing := names.keys() - set(found[1::2]):
        raise ValueError(", ".join(sorted(names[sample] for sample in missing)))
    return Pieces(tuple(found[::2]), tuple(names[sample] for sample in found[1::2]))


_ESCAPES = str.maketrans({character: escape(character) for character in "&<>\"'"})


def _in_html(value: object) -> str:
    return value if isinstance(value, SafeString) else str(value).translate(_ESCAPES)


TEMPLATE = "consent/review.html"
MOST_SHAPES = 256  # kept in a process; a page has about 8 kB
_LAST_SHARED, _ENDS = (datetime(1901, 1, day, day, tzinfo=UTC) for day in (1, 2))


@dataclass(frozen=True)
class Shape:
    """What decides the page of a question besides what belongs to a person, so that many people share it.

    No value of a claim, address, token or time of a person may get in here: what is rendered is kept.
    """

    language: str
    requester_id: str
    requester: tuple[tuple[str, str], ...]  # its members, as they are stored with the question
    requester_since: date | None
    requester_is_unchecked: bool
    alternatives: bool
    claims: tuple[ClaimPath, ...]
    optional: frozenset[ClaimPath]
    new: frozenset[ClaimPath]
    told: tuple[ClaimPath, ...]
    several: frozenset[ClaimPath]  # the claims with several values, whose labels are in the plural
    shared_before: bool
    extendable: bool  # whether there is, or was, more time for who asks for it
    may_have_more_time: bool

    @classmethod
    def of(cls, question: Question) -> Self:
        """The shape of a question without transactions, in the language of the page."""
        return cls(
            language=get_language() or "",
            requester_id=question.consent.requester_id,
            requester=tuple(question.consent.requester.items()),
            requester_since=question.consent.requester_since,
            requester_is_unchecked=question.consent.requester_is_unchecked,
            alternatives=question.consent.alternatives,
            claims=tuple([claim.path for claim in question.claims]),
            optional=question.optional,
            new=question.new,
            told=question.told,
            several=frozenset([claim.path for claim in question.claims if claim.several]),
            shared_before=question.last_shared_at is not None,
            extendable=question.deadline.extendable_until is not None,
            may_have_more_time=question.deadline.may_have_more_time,
        )


def rendered(
    request: HttpRequest, question: Question, *, signed_in_email: str, asks_passkey: bool, now: datetime
) -> str:
    """The page of a question, as HTML. The seldom ones are rendered by Django from beginning to end.

    request: for the page's own address, or the authorization request, which is answered with the page.
    """
    path = path_with_id("consent_review", question.consent.id)
    if asks_passkey or _is_seldom(request, question, path):
        context = {"question": question, "signed_in_email": signed_in_email, "asks_passkey": asks_passkey}
        if request.path != path:
            context |= {"page_path": path, "this_page": path}
        return render_to_string(TEMPLATE, context, request)
    values: dict[str, object] = {
        "csrf_token": get_token(request),
        "path": path,
        "signed_in_email": signed_in_email,
        "return_to": question.consent.return_to,
        "ends": clock(question.deadline.ends),
        "seconds_left": question.deadline.seconds_left(now),
    }
    if question.last_shared_at:
        values["last_shared_at"] = moment(question.last_shared_at)
    for number, claim in enumerate(question.claims):
        values[f"value {number}"] = claim.value
    return pieces(Shape.of(question)).fill(values)


def _is_seldom(request: HttpRequest, question: Question, path: str) -> bool:
    """Whether the page says more than its shape: of a person, transactions, a refused form, an end."""
    closes = getattr(request, "wallet_closes_at", None)
    form_was_sent = request.path == path and request.META.get("QUERY_STRING")
    return bool(question.transactions or question.adds_up or closes or form_was_sent)


@lru_cache(maxsize=MOST_SHAPES)
def pieces(shape: Shape) -> Pieces:
    """The page of every question of this shape, without what belongs to a person."""
    samples = _Samples()
    request = HttpRequest()  # the context processors find nothing of a person in it
    request.method, request.path = "GET", samples["path"]
    noting(request, ServedRequest).page_language = shape.language
    with override(shape.language):
        context = {
            "question": _sample_question(shape, samples),
            "signed_in_email": samples["signed_in_email"],
            "csrf_token": samples["csrf_token"],
        }
        return cut(render_to_string(TEMPLATE, context, request), samples)


class _Samples(dict[str, str]):
    """By its name, what stands in the place of each value. What is asked for first cannot be guessed."""

    def __missing__(self, name: str) -> str:
        self[name] = secrets.token_hex()
        return self[name]


@dataclass(frozen=True)
class _SampleDeadline(Deadline):
    seconds: int

    def seconds_left(self, now: datetime) -> int:
        return self.seconds


def _sample_question(shape: Shape, samples: _Samples) -> Question:
    """A question of this shape. Times are samples as elements, which no escaped text can be equal to."""
    if shape.shared_before:
        samples["last_shared_at"] = moment(_LAST_SHARED)
    return Question(
        consent=Consent(
            requester_id=shape.requester_id,
            requester=dict(shape.requester),
            return_to=samples["return_to"],
            alternatives=shape.alternatives,
            requester_since=shape.requester_since,
            requester_is_unchecked=shape.requester_is_unchecked,
        ),
        transactions=(),
        claims=tuple(
            ClaimPreview(
                path=path,
                value=samples[f"value {number}"],
                several=path in shape.several,
            )
            for number, path in enumerate(shape.claims)
        ),
        optional=shape.optional,
        last_shared_at=_LAST_SHARED if shape.shared_before else None,
        new=shape.new,
        told=shape.told,
        deadline=_sample_deadline(shape, samples),
    )


def _sample_deadline(shape: Shape, samples: _Samples) -> Deadline:
    latest = _ENDS + timedelta(hours=1) if shape.may_have_more_time else _ENDS
    seconds = secrets.randbits(256)
    samples["ends"], samples["seconds_left"] = clock(_ENDS), str(seconds)
    return _SampleDeadline(_ENDS, latest if shape.extendable else None, samples["return_to"], seconds)
