"""The pages about one requester in the wallet: what it knows, asking it to delete that, reporting it."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from consent import requesters
from consent.forms import ReportForm
from consent.models import Consent
from consent.question import Requester
from infra.limits import LimitReachedError
from infra.reading import only_read
from wallet.models import HolderSession
from wallet.sign_in.decorators import for_signed_in, see_other


@only_read
@for_signed_in
def listed(request: HttpRequest, session: HolderSession, now: datetime) -> HttpResponse:
    """All requesters that ever asked this wallet."""
    rows = [(row, Requester.from_json(row.requester)) for row in requesters.requesters(session.wallet)]
    return _page(request, session, "requesters", requesters=rows)


@only_read
@for_signed_in
def one(request: HttpRequest, session: HolderSession, now: datetime, requester_id: str) -> HttpResponse:
    """What one requester knows."""
    knowledge = _known(session, requester_id, now=now)
    return _page(request, session, "knowledge", knowledge=knowledge, reported=request.GET.get("reported"))


@require_http_methods(["GET", "HEAD", "POST"])
@for_signed_in
def deletion(
    request: HttpRequest,
    session: HolderSession,
    now: datetime,
    requester_id: str,
    contact_of: Callable[[str], str],
) -> HttpResponse:
    """The e-mail that asks it to delete what it received; on POST, remembers that it was sent.

    contact_of: gives the requester's e-mail address for holders, or an empty text (`config.urls`).
    """
    knowledge = _known(session, requester_id, now=now)
    if not knowledge["received"]:
        raise Http404
    if request.method == "POST":
        requesters.note_deletion_asked(session.wallet, requester_id, now=now)
        return see_other("consent_requester", requester_id)
    contact = contact_of(requester_id)
    texts, address = requesters.deletion_email(session.wallet, requester_id, contact=contact, now=now)
    return _page(
        request, session, "deletion", knowledge=knowledge, texts=texts, address=address, contact=contact
    )


@require_http_methods(["GET", "HEAD", "POST"])
@for_signed_in
def report(request: HttpRequest, session: HolderSession, now: datetime, requester_id: str) -> HttpResponse:
    """Reports it to the operator."""
    knowledge = _known(session, requester_id, now=now)
    form = ReportForm(request.POST if request.method == "POST" else None)
    if not form.is_valid():
        status = 422 if form.is_bound else 200
        return _page(request, session, "report", status=status, knowledge=knowledge, form=form)
    try:
        requesters.report(session.wallet, requester_id, **form.cleaned_data, now=now)
        done = "yes"
    except LimitReachedError:
        done = "often"
    return see_other(reverse("consent_requester", args=[requester_id], query={"reported": done}))


def _known(session: HolderSession, requester_id: str, *, now: datetime) -> dict[str, Any]:
    try:
        return requesters.knowledge(session.wallet, requester_id, now=now)
    except Consent.DoesNotExist:
        raise Http404 from None


def _page(
    request: HttpRequest, session: HolderSession, name: str, *, status: int = 200, **facts: Any
) -> HttpResponse:
    context = {"here": "receipts", "wallet": session.wallet, "signed_in_as": session.wallet.email, **facts}
    return render(request, f"consent/{name}.html", context, status=status)
