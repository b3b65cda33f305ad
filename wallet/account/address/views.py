"""The pages for changing the e-mail address of a wallet, and for undoing that."""

from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as _lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from infra import browser
from infra.again import again_after
from infra.limits import LimitReachedError
from infra.mail import outbox
from infra.reading import only_read
from wallet.account import fresh
from wallet.account.address import changes, undoing
from wallet.account.address.changes import AddressTakenError
from wallet.account.address.undoing import UndoGoneError
from wallet.models import HolderSession
from wallet.sign_in import sessions
from wallet.sign_in.codes import NoCodeError, WalletSuspendedError, WrongCodeError, wrong_code
from wallet.sign_in.decorators import for_signed_in, see_other, show_to
from wallet.sign_in.forms import CodeForm, EmailForm


@require_http_methods(["GET", "HEAD", "POST"])
@for_signed_in
def begin(request: HttpRequest, session: HolderSession, now: datetime) -> HttpResponse:
    """Asks for the new address; on POST, sends a code to it. Needs a fresh factor.

    The address of a wallet that is about to close stays: its e-mails go to the holder who closes it.
    """
    if session.wallet.closes_at is not None:
        return see_other("wallet_close")
    if not fresh.is_fresh(session, now=now):
        return fresh.confirm_first(request, session, "wallet_email_change", now=now)
    form = NewAddressForm(request.POST or None, present=session.wallet.email)
    if not form.is_valid():
        return show_to(request, session, "address/begin", form=form, status=422 if form.is_bound else 200)
    secret, digest = browser.ensure(request)
    email, client = form.cleaned_data["email"], browser.address(request)
    try:
        changes.ask(session.wallet, email, browser=digest, client=client, now=now)
    except LimitReachedError as limit:
        form.add_error(None, _("Too many codes were sent. Please wait and try again."))
        page = show_to(request, session, "address/begin", form=form, retry_at=limit.retry_at, status=429)
        return again_after(limit.retry_after(now), page)
    response = see_other("wallet_email_change_confirm")
    browser.remember(response, secret)
    return response


@require_http_methods(["GET", "HEAD", "POST"])
@for_signed_in
def confirm(request: HttpRequest, session: HolderSession, now: datetime) -> HttpResponse:
    """Asks for the code from the new mailbox; on POST, changes the address and keeps this browser only."""
    digest = browser.digest(request)
    change = changes.pending(session.wallet, browser=digest, now=now)
    if change is None:
        return see_other("wallet_email_change")
    form = CodeForm(request.POST or None)
    if form.is_valid():
        code, client = form.cleaned_data["code"], browser.address(request)
        try:
            changes.confirm(session.wallet, code, browser=digest, client=client, now=now)
        except (NoCodeError, WalletSuspendedError):
            return see_other("wallet_email_change")
        except WrongCodeError as wrong:
            form.add_error("code", wrong_code(wrong.tries_left))
        except LimitReachedError:
            form.add_error(None, _("Too many codes were tried. Please wait and try again."))
        except AddressTakenError:
            return show_to(request, session, "address/taken", email=change.email, status=409)
        else:
            response = see_other("wallet_email_change_done")
            session.wallet.refresh_from_db()
            sessions.start(request, response, session.wallet, now=now)
            return response
    facts = {"email": change.email, "email_state": outbox.state_of(change.outgoing, now=now)}
    return show_to(
        request, session, "address/confirm", form=form, status=422 if form.is_bound else 200, **facts
    )


@only_read
@for_signed_in
def changed(request: HttpRequest, session: HolderSession, now: datetime) -> HttpResponse:
    """The page after the change: what happens now."""
    former = session.wallet.former_addresses.order_by("-left_at").first()
    if former is None:
        return see_other("wallet_security")
    return show_to(request, session, "address/done", former=former)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def undo(request: HttpRequest, secret: str) -> HttpResponse:
    """The target of the link in the e-mail to the old address. Undoes on POST: mail scanners open links."""
    now = timezone.now()
    try:
        if request.method != "POST":
            return _page(request, "undo", former=undoing.find(secret, now=now))
        undoing.undo(secret, now=now)
    except UndoGoneError:
        if former := undoing.undone(secret, now=now):
            return _page(request, "undone", former=former)
        return _page(request, "undo_gone", status=410)
    except AddressTakenError:
        return _page(request, "undo_taken", status=409)
    return sessions.end(request, see_other("wallet_email_change_undo", secret))


def _page(request: HttpRequest, name: str, *, status: int = 200, **facts: Any) -> HttpResponse:
    return render(request, f"wallet/address/{name}.html", facts, status=status)


class NewAddressForm(EmailForm):
    """The new e-mail address of a wallet, in lower case."""

    label = _lazy("New e-mail address")
    help_text = _lazy("We send a code there.")
