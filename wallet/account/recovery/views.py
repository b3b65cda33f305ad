"""The pages of a recovery after a lost mailbox, and those that stop the move of a wallet."""

from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as _lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from infra import browser
from infra.again import again_after
from infra.limits import LimitReachedError
from infra.reading import only_read
from wallet.account.recovery import stopping
from wallet.identity import recoveries
from wallet.identity.recoveries import RecoveryOverError
from wallet.models import HolderSession, Recovery
from wallet.sign_in import allowances, sessions
from wallet.sign_in.decorators import for_signed_in, on_own_redirect_task, see_other, show_to
from wallet.sign_in.forms import EmailForm


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
    email, digest, client = form.cleaned_data["email"], browser.digest(request), browser.address(request)
    try:
        allowances.count_redirect_task(email, browser=digest, client=client, now=now)
    except LimitReachedError as limit:
        form.add_error(None, _("This was tried too often. Please wait and try again."))
        page = _page(request, "begin", form=form, retry_at=limit.retry_at, status=429)
        return again_after(limit.retry_after(now), page)
    return on_own_redirect_task(
        request,
        email,
        lambda redirect_task: see_other("wallet_sign_in", redirect_task.id),
        return_to="wallet_recovery_ask",
        leave_to="wallet_recovery",
        now=now,
    )


@require_http_methods(["GET", "HEAD", "POST"])
@for_signed_in
def ask(request: HttpRequest, session: HolderSession, now: datetime) -> HttpResponse:
    """Asks for the address of the lost mailbox; on POST, leads to the identity check."""
    form = LostAddressForm(request.POST or None, present=session.wallet.email)
    if not form.is_valid():
        return show_to(request, session, "recovery/ask", form=form, status=422 if form.is_bound else 200)
    try:
        recoveries.ask(session.wallet, form.cleaned_data["email"], now=now)
    except LimitReachedError as limit:
        form.add_error(None, _("This was tried too often. Please wait and try again."))
        page = show_to(request, session, "recovery/ask", form=form, retry_at=limit.retry_at, status=429)
        return again_after(limit.retry_after(now), page)
    except RecoveryOverError:
        return see_other("wallet_recovery_state")
    return _to_the_check(request, session, now)


@require_POST
@for_signed_in
def check(request: HttpRequest, session: HolderSession, now: datetime) -> HttpResponse:
    """Leads to the identity check again, for somebody who has left it."""
    return _to_the_check(request, session, now)


@only_read
@for_signed_in
def state(request: HttpRequest, session: HolderSession, now: datetime) -> HttpResponse:
    """The state of the recovery after the identity check, or that the move away from here is stopped."""
    latest = recoveries.latest(session.wallet)
    if latest is None and session.wallet.recoveries.filter(state=Recovery.State.STOPPED).exists():
        return show_to(request, session, "recovery/stopped")
    if latest is None:
        return see_other("wallet_recovery_ask")
    return show_to(request, session, "recovery/state", recovery=latest)


@require_POST
@for_signed_in
def stop_here(request: HttpRequest, session: HolderSession, now: datetime) -> HttpResponse:
    """Stops the move of or to the wallet of this browser."""
    try:
        stopping.by_holder(session.wallet, now=now)
    except RecoveryOverError:
        return show_to(request, session, "recovery/stop_gone", status=410)
    return see_other("wallet_recovery_state")


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
        if stopping.is_stopped(secret, now=now):
            return _page(request, "stopped")
        return _page(request, "stop_gone", status=410)
    return see_other("wallet_recovery_stop", secret)


def _to_the_check(request: HttpRequest, session: HolderSession, now: datetime) -> HttpResponse:
    return on_own_redirect_task(
        request,
        session.wallet.email,
        lambda redirect_task: see_other("wallet_identity", redirect_task.id),
        return_to="wallet_recovery_state",
        leave_to="wallet_recovery_state",
        renewal=True,
        now=now,
    )


def _page(request: HttpRequest, name: str, *, status: int = 200, **facts: Any) -> HttpResponse:
    return render(request, f"wallet/recovery/{name}.html", facts, status=status)


class OwnNewAddressForm(EmailForm):
    """The address of the wallet that somebody opens because their mailbox is lost."""

    label = _lazy("An e-mail address that you can read")
    help_text = _lazy("We send a code there. Your wallet moves to this address.")


class LostAddressForm(EmailForm):
    """The address of the mailbox that is lost."""

    label = _lazy("E-mail address of the lost mailbox")
    help_text = _lazy("The address that you signed in with before.")
    refusal = _lazy("You are signed in with this address. Enter the one you cannot read any more.")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["email"].widget.attrs["autocomplete"] = "off"
