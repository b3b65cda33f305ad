"""The pages of a recovery after a lost mailbox, and those that stop the move of a wallet."""

from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from infra import browser
from infra.again import again_after
from infra.limits import LimitReachedError
from infra.reading import only_read
from wallet import errands, sessions, sign_in_allowances
from wallet.account.recovery import recoveries, stopping
from wallet.account.recovery.forms import LostAddressForm, OwnNewAddressForm
from wallet.account.recovery.recoveries import RecoveryOverError
from wallet.models import HolderSession
from wallet.pages import for_signed_in, see_other


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def begin(request: HttpRequest) -> HttpResponse:
    """Explains what happens, and asks for a new address; then follows an ordinary sign-in with it."""
    now = timezone.now()
    if sessions.current(request, now=now):
        return see_other("wallet_recovery_ask")
    form = OwnNewAddressForm(request.POST or None)
    if not form.is_valid():
        return _page(request, "begin", form=form, status=422 if form.is_bound else 200)
    secret, digest = browser.ensure(request)
    email, client = form.cleaned_data["email"], browser.address(request)
    try:
        sign_in_allowances.count_errand(email, browser=digest, client=client, now=now)
    except LimitReachedError as limit:
        form.add_error(None, _("This was tried too often. Please wait and try again."))
        page = _page(request, "begin", form=form, retry_at=limit.retry_at, status=429)
        return again_after(limit.retry_after(now), page)
    errand = errands.open_errand(
        browser=digest,
        email=email,
        return_to=reverse("wallet_recovery_ask"),
        leave_to=reverse("wallet_recovery"),
        now=now,
    )
    response = see_other("wallet_sign_in", errand.id)
    browser.remember(response, secret)
    return response


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@for_signed_in
def ask(request: HttpRequest, session: HolderSession, now: datetime) -> HttpResponse:
    """Asks for the address of the lost mailbox; on POST, leads to the identity check."""
    form = LostAddressForm(request.POST or None, present=session.wallet.email)
    if not form.is_valid():
        return _show(request, "ask", session, form=form, status=422 if form.is_bound else 200)
    try:
        recoveries.ask(session.wallet, form.cleaned_data["email"], now=now)
    except LimitReachedError as limit:
        form.add_error(None, _("This was tried too often. Please wait and try again."))
        page = _show(request, "ask", session, form=form, retry_at=limit.retry_at, status=429)
        return again_after(limit.retry_after(now), page)
    except RecoveryOverError:
        return see_other("wallet_recovery_state")
    return _to_the_check(request, session, now)


@require_POST
@never_cache
@for_signed_in
def check(request: HttpRequest, session: HolderSession, now: datetime) -> HttpResponse:
    """Leads to the identity check again, for somebody who has left it."""
    return _to_the_check(request, session, now)


@only_read
@never_cache
@for_signed_in
def state(request: HttpRequest, session: HolderSession, now: datetime) -> HttpResponse:
    """What became of the recovery, after the identity check and later."""
    latest = recoveries.latest(session.wallet)
    if latest is None:
        return see_other("wallet_recovery_ask")
    return _show(request, "state", session, recovery=latest)


@require_POST
@never_cache
@for_signed_in
def stop_here(request: HttpRequest, session: HolderSession, now: datetime) -> HttpResponse:
    """Stops the move of or to the wallet of this browser."""
    try:
        stopped = stopping.by_holder(session.wallet, now=now)
    except RecoveryOverError:
        return _show(request, "stop_gone", session, status=410)
    if stopped.new_id == session.wallet.id:
        return see_other("wallet_recovery_state")
    return _show(request, "stopped", session)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def stop(request: HttpRequest, secret: str) -> HttpResponse:
    """The target of the links in the e-mails to the old address. Stops on POST: mail scanners open links."""
    now = timezone.now()
    try:
        if request.method != "POST":
            return _page(request, "stop", recovery=stopping.find(secret, now=now))
        stopping.by_link(secret, now=now)
    except RecoveryOverError:
        return _page(request, "stop_gone", status=410)
    return _page(request, "stopped")


def _to_the_check(request: HttpRequest, session: HolderSession, now: datetime) -> HttpResponse:
    secret, digest = browser.ensure(request)
    errand = errands.open_errand(
        browser=digest,
        email=session.wallet.email,
        return_to=reverse("wallet_recovery_state"),
        leave_to=reverse("wallet_recovery_state"),
        renewal=True,
        now=now,
    )
    response = see_other("wallet_identity", errand.id)
    browser.remember(response, secret)
    return response


def _show(
    request: HttpRequest, name: str, session: HolderSession, *, status: int = 200, **facts: Any
) -> HttpResponse:
    facts |= {"wallet": session.wallet, "signed_in_as": session.wallet.email}
    return _page(request, name, status=status, **facts)


def _page(request: HttpRequest, name: str, *, status: int = 200, **facts: Any) -> HttpResponse:
    return render(request, f"wallet/recovery/{name}.html", facts, status=status)
