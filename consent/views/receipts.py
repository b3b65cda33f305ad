"""The pages of a holder's receipts: the list with its search, one receipt, and taking back."""

from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from consent import decisions, receipts, statements
from consent.forms import SearchForm
from consent.models import Consent
from consent.receipts import Cursor, Receipt
from infra.reading import only_read
from keys.statements import StatementError
from wallet.account import pairwise
from wallet.models import HolderSession, Wallet
from wallet.sign_in.decorators import for_signed_in, see_other


@only_read
@for_signed_in
def history(request: HttpRequest, session: HolderSession, now: datetime) -> HttpResponse:
    """The holder's receipts, newest first: requests that were granted or declined, and match the search."""
    form = SearchForm(request.GET)
    if not form.is_valid():
        return _page(request, "history", _of(session.wallet) | {"form": form}, status=422)
    older, newer = (Cursor.parse(request.GET.get(name, "")) for name in ("older", "newer"))
    page = receipts.page(session.wallet, form.search, older=older, newer=newer)
    context = {
        "form": form,
        "receipts": receipts.of(session.wallet, page.rows, now=now),
        "links": _links(form, page),
        "invalidated": _invalidated(request, session.wallet, now=now),
    }
    return _page(request, "history", _of(session.wallet) | context)


@only_read
@for_signed_in
def receipt(request: HttpRequest, session: HolderSession, now: datetime, consent_id: UUID) -> HttpResponse:
    """One receipt of the holder with all its details, to read and to print."""
    own_receipt = _receipt(session.wallet, now=now, id=consent_id, decided_at__isnull=False)
    stated = statements.of(own_receipt, now=now)
    context = {"receipt": own_receipt, "site": urlsplit(settings.BASE_URL).netloc, "stated": stated}
    context["qr_code"] = statements.qr_code(stated) if stated else ""
    if own_receipt.requester.sector and own_receipt.recognition:
        context["has_number"] = pairwise.is_used(own_receipt.requester.sector, wallet=session.wallet)
    return _page(request, "receipt", _of(session.wallet) | context)


@only_read
@for_signed_in
def statement(request: HttpRequest, session: HolderSession, now: datetime, consent_id: UUID) -> HttpResponse:
    """One receipt as a signed statement, to save."""
    own_receipt = _receipt(session.wallet, now=now, id=consent_id, decided_at__isnull=False)
    stated = statements.of(own_receipt, now=now)
    if not stated:
        raise Http404
    file = {"Content-Disposition": f'attachment; filename="receipt-{consent_id}.jwt"'}
    return HttpResponse(stated, content_type="application/jwt", headers=file)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def check(request: HttpRequest) -> HttpResponse:
    """Whether a receipt that somebody shows is genuine: for everybody, and nothing is stored."""
    context: dict[str, Any] = {}
    if request.method == "POST":
        try:
            stated = statements.read(request.POST.get("statement", ""))
        except StatementError:
            context = {"refused": True}
        else:
            names = [receipts.label(tuple(name.split("."))) for name in stated["claims"]]
            answered_at = datetime.fromtimestamp(stated["answered_at"], UTC)
            context = {"stated": stated, "claims": names, "answered_at": answered_at}
    return _page(request, "receipt_check", context, status=422 if "refused" in context else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@for_signed_in
def invalidate(request: HttpRequest, session: HolderSession, now: datetime, consent_id: UUID) -> HttpResponse:
    """Ask for confirmation; on POST, invalidate what was presented with this consent, and end its code."""
    own_receipt = _receipt(session.wallet, now=now, id=consent_id)
    if request.method != "POST" and own_receipt.can_be_taken_back:
        return _page(request, "invalidate", _of(session.wallet) | {"receipt": own_receipt})
    done = {}
    if request.method == "POST" and (own_receipt.shared or own_receipt.collectable):
        decisions.take_back(session.wallet, consent_id, now=now)
        done = {"invalidated": consent_id}
    return see_other(reverse("consent_history", query=done))


@require_http_methods(["GET", "HEAD", "POST"])
@for_signed_in
def new_number(request: HttpRequest, session: HolderSession, now: datetime, consent_id: UUID) -> HttpResponse:
    """Ask for confirmation; on POST, forget the number by which the requester of this receipt recognises."""
    requester = _receipt(session.wallet, now=now, id=consent_id, decided_at__isnull=False).requester
    if request.method != "POST" and pairwise.is_used(requester.sector, wallet=session.wallet):
        context = {"requester": requester, "receipt_id": consent_id}
        return _page(request, "new_number", _of(session.wallet) | context)
    if request.method == "POST":
        pairwise.reset(session.wallet, requester.sector)
    return see_other("consent_receipt", consent_id)


def _links(form: SearchForm, page: receipts.Page) -> dict[str, str]:
    """The addresses of the next and the previous page with the same search; empty if there is none."""
    places = {"older": page.older, "newer": page.newer}
    return {
        name: reverse("consent_history", query=form.kept | {name: str(place)}) if place else ""
        for name, place in places.items()
    }


def _invalidated(request: HttpRequest, wallet: Wallet, *, now: datetime) -> Receipt | None:
    """The receipt named in the query, if it is the holder's and its credential is invalid."""
    try:
        own_receipt = _receipt(wallet, now=now, id=UUID(request.GET.get("invalidated", "")))
    except (ValueError, Http404):
        return None
    return own_receipt if own_receipt.taken_back or own_receipt.ended_uncollected else None


def _receipt(wallet: Wallet, *, now: datetime, **which: Any) -> Receipt:
    (own_receipt,) = receipts.of(wallet, [get_object_or_404(Consent, wallet=wallet, **which)], now=now)
    return own_receipt


def _of(wallet: Wallet) -> dict[str, Any]:
    return {"here": "receipts", "wallet": wallet, "signed_in_as": wallet.email}


def _page(request: HttpRequest, name: str, context: dict[str, Any], status: int = 200) -> HttpResponse:
    return render(request, f"consent/{name}.html", context, status=status)
