"""The page of a question: rendered once for each shape, then filled with what belongs to one person.

`consent/review.html` is the only source of the page. Django renders it with samples in the place of all that
belongs to a person; the page is cut at the samples, and only what is left of it is kept.
"""

import secrets
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Self

from django.http import HttpRequest
from django.middleware.csrf import get_token
from django.template.loader import render_to_string
from django.utils.translation import get_language, override

from consent import page_pieces
from consent.models import Consent
from consent.page_pieces import Pieces
from consent.pages import Question
from infra.templatetags.moments import clock, moment
from wallet import claims
from wallet.claims import ClaimPath, ClaimPreview
from wallet.deadlines import Deadline

TEMPLATE = "consent/review.html"
MOST_SHAPES = 256  # kept in a process; a page has about 8 kB
_LAST_SHARED, _ENDS = (datetime(1901, 1, day, day, tzinfo=UTC) for day in (1, 2))


@dataclass(frozen=True)
class Shape:
    """What decides the page of a question besides what belongs to a person, so that many people share it.

    No value of a claim, address, token or time of a person may get in here: what is rendered is kept.
    """

    language: str
    requester: tuple[tuple[str, str], ...]  # its members, as they are stored with the question
    requester_since: date | None
    requester_is_unchecked: bool
    alternatives: bool
    claims: tuple[ClaimPath, ...]
    optional: frozenset[ClaimPath]
    new: frozenset[ClaimPath]
    several: frozenset[ClaimPath]  # the claims with several values, whose labels are in the plural
    shared_before: bool
    extendable: bool  # whether there is, or was, more time for who asks for it
    may_have_more_time: bool

    @classmethod
    def of(cls, question: Question) -> Self:
        """The shape of a question without transactions, in the language of the page."""
        return cls(
            language=get_language() or "",
            requester=tuple(question.consent.requester.items()),
            requester_since=question.consent.requester_since,
            requester_is_unchecked=question.consent.requester_is_unchecked,
            alternatives=question.consent.alternatives,
            claims=tuple([claim.path for claim in question.claims]),
            optional=question.optional,
            new=question.new,
            several=frozenset([claim.path for claim in question.claims if claim.several]),
            shared_before=question.last_shared_at is not None,
            extendable=question.deadline.extendable_until is not None,
            may_have_more_time=question.deadline.may_have_more_time,
        )


def rendered(
    request: HttpRequest, question: Question, *, signed_in_email: str, asks_passkey: bool, now: datetime
) -> str:
    """The page of a question, as HTML. The seldom ones are rendered by Django from beginning to end."""
    if asks_passkey or _is_seldom(request, question):
        context = {"question": question, "signed_in_email": signed_in_email, "asks_passkey": asks_passkey}
        return render_to_string(TEMPLATE, context, request)
    values: dict[str, object] = {
        "csrf_token": get_token(request),
        "path": request.path,
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


def _is_seldom(request: HttpRequest, question: Question) -> bool:
    """Whether the page says more than its shape: of a transaction, a refused form, or the wallet's end."""
    closes = getattr(request, "wallet_closes_at", None)
    return bool(question.transactions or closes or request.META.get("QUERY_STRING"))


@lru_cache(maxsize=MOST_SHAPES)
def pieces(shape: Shape) -> Pieces:
    """The page of every question of this shape, without what belongs to a person."""
    samples = _Samples()
    request = HttpRequest()  # the context processors find nothing of a person in it
    request.method, request.path = "GET", samples["path"]
    request.page_language = shape.language  # type: ignore[attr-defined]
    with override(shape.language):
        context = {
            "question": _sample_question(shape, samples),
            "signed_in_email": samples["signed_in_email"],
            "csrf_token": samples["csrf_token"],
        }
        return page_pieces.cut(render_to_string(TEMPLATE, context, request), samples)


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
                note=claims.note(path, shape.claims),
                several=path in shape.several,
            )
            for number, path in enumerate(shape.claims)
        ),
        optional=shape.optional,
        last_shared_at=_LAST_SHARED if shape.shared_before else None,
        new=shape.new,
        deadline=_sample_deadline(shape, samples),
    )


def _sample_deadline(shape: Shape, samples: _Samples) -> Deadline:
    latest = _ENDS + timedelta(hours=1) if shape.may_have_more_time else _ENDS
    seconds = secrets.randbits(256)
    samples["ends"], samples["seconds_left"] = clock(_ENDS), str(seconds)
    return _SampleDeadline(_ENDS, latest if shape.extendable else None, samples["return_to"], seconds)
