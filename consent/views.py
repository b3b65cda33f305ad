"""The page that asks a holder to share, and what its form does."""

import uuid
from datetime import datetime
from http import HTTPStatus
from typing import Any

from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.middleware.csrf import rotate_token
from django.shortcuts import render
from django.utils import timezone

from consent import decisions
from consent.models import Consent
from consent.pages import REVIEW_CSP, Question
from infra.database.prepared_statements import PreparedRead
from infra.reading import only_read
from infra.sealing import SealError
from wallet import credentials, sessions
from wallet.models import HolderSession

NOT_ME = "not_me"  # leaves the question unanswered and signs the browser out
DECISIONS = {
    "share": (decisions.grant, Consent.Decision.GRANTED),
    "decline": (decisions.decline, Consent.Decision.DECLINED),
}

_by_id = PreparedRead(lambda value: Consent.objects.filter(id=value("id")))


@only_read
def review(request: HttpRequest, consent_id: uuid.UUID) -> HttpResponse:
    """Show a question to its holder. The forms of the page are submitted to the question's `return_to`."""
    now = timezone.now()
    session = sessions.current(request, now=now)
    consent = _by_id.first(id=consent_id)
    if consent is None:
        raise Http404
    if session is None:
        return _onwards(consent)
    return _ask(request, consent, session, now=now)


def take_decision(
    request: HttpRequest, consent: Consent, session: HolderSession, *, now: datetime
) -> HttpResponse | None:
    """Process a submitted form of the consent page; called by the view at `return_to`.

    Returns None if the answer is stored, now also in `consent`, so that the view can act on it. Otherwise
    returns the response for the browser: a page that says why nothing was decided, or a redirect after the
    sign-out. Rotating the CSRF token keeps the back button from showing the page from the browser's memory.
    """
    if consent.wallet_id != session.wallet_id:
        return _closed(request, consent, session, "other")
    rotate_token(request)
    chosen = request.POST.get("decision")
    if chosen == NOT_ME:
        onwards = _onwards(consent)
        sessions.end(request, onwards)
        return onwards
    decide, decision = DECISIONS.get(chosen or "", (None, ""))
    if decide is None:
        raise BadRequest("decision must be share, decline or not_me")
    try:
        decide(consent.id, session.wallet, now=now)
    except decisions.ExpiredError:
        return _closed(request, consent, session, "lapsed")
    except decisions.AlreadyDecidedError as error:
        if error.decision != decision:  # a second click on the same button continues
            return _closed(request, consent, session, error.decision, status=HTTPStatus.CONFLICT)
    consent.decision = decision
    return None


def _ask(request: HttpRequest, consent: Consent, session: HolderSession, *, now: datetime) -> HttpResponse:
    if consent.wallet_id != session.wallet_id:
        return _closed(request, consent, session, "other")
    if consent.decision != Consent.Decision.ASKED:
        return _closed(request, consent, session, consent.decision)
    if consent.expires_at <= now:
        return _closed(request, consent, session, "lapsed")
    credential = credentials.valid_credential(session.wallet, now=now)
    if credential is None:
        return _onwards(consent)
    try:
        question = Question.of(consent, credential)
    except SealError:  # the view at `return_to` meets the same error and ends the request
        return _onwards(consent)
    response = _page(request, "review", {"question": question, "signed_in_email": session.wallet.email})
    response._csp_config = REVIEW_CSP  # type: ignore[attr-defined]
    return response


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
    return _page(request, "closed", context, status)


def _page(request: HttpRequest, name: str, context: dict[str, Any], status: int = 200) -> HttpResponse:
    response = render(request, f"consent/{name}.html", context, status=status)
    response.headers["Cache-Control"] = "no-store"
    return response


def _onwards(consent: Consent) -> HttpResponse:
    return HttpResponseRedirect(
        consent.return_to, status=HTTPStatus.SEE_OTHER, headers={"Cache-Control": "no-store"}
    )
