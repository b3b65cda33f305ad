"""The page that asks a holder to share, and what its form does."""

import uuid
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Any

from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone

from consent import decisions, question_page, switches
from consent.decisions import Paths, Sharing
from consent.models import Consent
from consent.question_page import REVIEW_CSP, Question
from infra import content_policy, log_context
from infra.paths import path_with_id
from infra.reading import only_read
from infra.sealing import SealError
from wallet.credential import credentials
from wallet.models import Credential, HolderSession
from wallet.passkeys import assertion
from wallet.passkeys.errors import PasskeyError
from wallet.passkeys.problem_page import POSTED, problem
from wallet.sign_in import sessions
from wallet.sign_in.decorators import NOT_ME  # as a decision: leaves it unanswered, and signs the browser out

PAGE = "page"  # the field of every form that has the address of its page
MORE_TIME = "more_time"  # leaves the question unanswered; the view at `return_to` extends it
SHARE, BY_CODE = "share", "code"
DECISIONS = {SHARE: Consent.Decision.GRANTED, "decline": Consent.Decision.DECLINED}


class CodeWantedError(Exception):
    """The holder has to confirm with a code before sharing: there is no passkey, or none was used."""


@only_read
def review(request: HttpRequest, consent_id: uuid.UUID) -> HttpResponse:
    """Show a question to its holder. The forms of the page are submitted to the question's `return_to`."""
    now = timezone.now()
    consent = Consent.objects.filter(id=consent_id).first()
    session = sessions.current(request, now=now)
    if consent is None:
        raise Http404
    kind = {"self_registered": True} if consent.requester_is_unchecked else {}
    log_context.bind(client_id=consent.requester_id, **kind)
    if session is None:
        return _onwards(consent)
    if consent.wallet_id != session.wallet_id:
        return _closed(request, consent, session, "other")
    if consent.decision != Consent.Decision.ASKED:
        return _closed(request, consent, session, consent.decision)
    credential = credentials.valid_credential(session.wallet, now=now)
    if credential is None or consent.expires_at <= now:
        return _onwards(consent)  # the page there has the way back
    last_shared = decisions.last_shared(session.wallet, consent.requester_id, now=now)
    page = ask(request, consent, credential, session, last_shared, now=now)
    return page or _onwards(consent)  # the view there meets the same error and ends the request


def ask(
    request: HttpRequest,
    consent: Consent,
    credential: Credential,
    session: HolderSession,
    last_shared: Sharing | None,
    *,
    now: datetime,
) -> HttpResponse | None:
    """The page of an open question, at its own address, or at that of the request that led to it.

    In the second case a script puts the page's own address into the bar, and all forms lead there. None if
    something does not unseal, and in the second case if the holder has to confirm with a passkey.
    last_shared: what the holder last shared with the requester.
    """
    own_address, needs_factor = path_with_id("consent_review", consent.id), _needs_factor(consent, session)
    headers = {"Cache-Control": "no-store"}
    if request.path != own_address:
        headers["Content-Location"] = own_address  # RFC 9110 §8.7
        if needs_factor:
            return None
    try:
        question = Question.of(consent, credential, last_shared, now=now)
    except SealError:
        return None
    page = question_page.rendered(
        request,
        question,
        signed_in_email=session.wallet.email,
        asks_passkey=needs_factor,
    )
    return content_policy.give(HttpResponse(page, headers=headers), REVIEW_CSP)


@dataclass(frozen=True)
class Choice:
    """What the holder chose on the consent page. switched_on: the optional claims that they share too."""

    decision: Consent.Decision
    switched_on: Paths = ()

    @property
    def shares(self) -> bool:
        return self.decision == Consent.Decision.GRANTED


def read_choice(
    request: HttpRequest, consent: Consent, session: HolderSession, *, now: datetime
) -> Choice | HttpResponse:
    """What a submitted form of the consent page says; called by the view at `return_to`.

    Otherwise the response for the browser: a page that says why nothing is decided, or a redirect after the
    sign-out, or to the present question if the form is on the page of another one, such as that of a holder
    who was signed in before. Raises `CodeWantedError` if the holder has to confirm with a code first.

    Every form of our pages has the field PAGE. One without it comes from a program of the holder, and decides
    this question; one whose PAGE is empty or names anything else decides nothing.
    """
    if consent.wallet_id != session.wallet_id:
        return _closed(request, consent, session, "other")
    own_address = path_with_id("consent_review", consent.id)
    if request.POST.get(PAGE, own_address) != own_address:
        return _onwards(consent)
    chosen = request.POST.get("decision", "")
    if chosen == NOT_ME:
        onwards = _onwards(consent, f"?{NOT_ME}=1")
        sessions.end(request, onwards)
        return onwards
    if chosen == BY_CODE:
        raise CodeWantedError
    if chosen not in DECISIONS:
        raise BadRequest("decision must be share, decline, code or not_me")
    if chosen != SHARE:
        return Choice(DECISIONS[chosen])
    if refused := _confirm(request, consent, session, now=now):
        return refused
    names = request.POST.getlist(switches.FIELD)
    optional = map(tuple, consent.optional_claims)
    return Choice(DECISIONS[chosen], list(map(list, switches.switched_on(names, optional))) if names else [])


def store_choice(
    request: HttpRequest, consent: Consent, session: HolderSession, choice: Choice, *, now: datetime
) -> HttpResponse | None:
    """Stores what the holder chose, now also in `consent`; a page if the question was decided otherwise."""
    try:
        if choice.shares:
            decisions.grant(consent.id, session.wallet, switched_on=choice.switched_on, now=now)
        else:
            decisions.decline(consent.id, session.wallet, now=now)
    except decisions.ExpiredError:
        return _closed(request, consent, session, "lapsed")
    except decisions.AlreadyDecidedError as error:
        if error.decision != choice.decision:
            return _closed(request, consent, session, error.decision, status=HTTPStatus.CONFLICT)
        # A second click on the same button continues with the first.
        choice = Choice(choice.decision, error.switched_on)
    consent.decision, consent.switched_on = choice.decision, choice.switched_on
    return None


def _confirm(
    request: HttpRequest, consent: Consent, session: HolderSession, *, now: datetime
) -> HttpResponse | None:
    """Checks the passkey that came with the decision, if the sign-in is too old; a page if it is refused."""
    open_still = consent.decision == Consent.Decision.ASKED and consent.expires_at > now
    if not open_still or not _needs_factor(consent, session):
        return None
    if not (posted := request.POST.get(POSTED)):
        raise CodeWantedError
    try:
        assertion.confirm(posted, session, subject=str(consent.id), now=now)
    except PasskeyError as error:
        back = path_with_id("consent_review", consent.id)
        return problem(request, error, back=back, signed_in_as=session.wallet.email)
    return None


def _needs_factor(consent: Consent, session: HolderSession) -> bool:
    return consent.fresh_since is not None and session.signed_in_at < consent.fresh_since


def _closed(
    request: HttpRequest,
    consent: Consent,
    session: HolderSession,
    why: str,
    *,
    status: int = HTTPStatus.GONE,
) -> HttpResponse:
    """The page that says why there is nothing to decide; without details of another holder's question."""
    context: dict[str, Any] = {"why": why, "return_to": consent.return_to}
    if why != "other":
        context |= {"requester": consent.requester, "signed_in_as": session.wallet.email}
    response = render(request, "consent/closed.html", context, status=status)
    response.headers["Cache-Control"] = "no-store"
    return response


def _onwards(consent: Consent, query: str = "") -> HttpResponse:
    return on_to(consent.return_to + query)


def on_to(address: str) -> HttpResponse:
    """A redirect (303) to a page of this service."""
    return HttpResponseRedirect(address, status=303, headers={"Cache-Control": "no-store"})
