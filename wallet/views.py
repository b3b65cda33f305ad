"""Pages of signing in and out."""

import math
import uuid
from datetime import datetime
from typing import Any

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import rotate_token
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from infra import browser
from infra.again import again_after
from infra.limits import LimitReachedError
from infra.reading import only_read
from wallet import errands, sessions, sign_in_allowances, sign_in_links
from wallet import sign_in as signing_in
from wallet.errands import ErrandGoneError
from wallet.forms import CodeForm, EmailForm
from wallet.models import Errand, Wallet
from wallet.pages import on_errand, see_other, show

HISTORY = "consent_history"  # where a holder who comes on their own wants to go


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def front_door(request: HttpRequest) -> HttpResponse:
    """For holders who come on their own: asks for the address, then goes on as every sign-in does."""
    now = timezone.now()
    if sessions.current(request, now=now):
        return see_other(HISTORY)
    form = EmailForm(request.POST or None)
    if form.is_valid():
        try:
            _count_errand(request, form.cleaned_data["email"], now)
        except LimitReachedError as limit:
            form.add_error(None, _wait(limit.retry_at, now))
            page = render(request, "wallet/front_door.html", {"form": form}, status=429)
            return again_after(limit.retry_after(now), page)
    if not form.is_valid():
        return render(request, "wallet/front_door.html", {"form": form}, status=422 if form.is_bound else 200)
    return _on_own_errand(request, form.cleaned_data["email"], now)


@require_http_methods(["GET", "HEAD", "POST"])
@on_errand
def sign_in(request: HttpRequest, errand: Errand, now: datetime) -> HttpResponse:
    """Says who asks and for whom, and sends the code."""
    session = sessions.current(request, now=now)
    if session and session.wallet.email != errand.email:
        return see_other("wallet_switch", errand.id)
    if session and errands.good_for(errand, session):
        return see_other(errand.return_to)
    if request.method == "POST":
        return _send_code(request, errand, now)
    return show(request, "sign_in", errand, session, again=bool(session), lapsed="lapsed" in request.GET)


@require_http_methods(["GET", "HEAD", "POST"])
@on_errand
def code(request: HttpRequest, errand: Errand, now: datetime) -> HttpResponse:
    """Takes the code. Once signed in, it is only a step on the way to where the errand leads."""
    session = sessions.current(request, now=now)
    if session and errands.good_for(errand, session):
        return see_other(errand.return_to)
    waits = {"ready_in": _seconds_until(signing_in.may_send_at(errand), now)}
    if request.method != "POST":
        if signing_in.link_pending(errand, now=now):
            return show(request, "link_sent", errand, session, **waits)
        if not signing_in.code_pending(errand, now=now):
            return see_other("wallet_sign_in", errand.id)
        return show(request, "code", errand, session, form=CodeForm(), **waits)
    form = CodeForm(request.POST)
    if form.is_valid() and (response := _redeem(request, errand, form, now)):
        return response
    name = "code_used_up" if form.has_error("code", "used_up") else "code"
    by_link = form.has_error(NON_FIELD_ERRORS, "by_link")
    return show(request, name, errand, session, form=form, by_link=by_link, status=422, **waits)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def link(request: HttpRequest, secret: str) -> HttpResponse:
    """Where the link in an e-mail leads. It asks for a click: programs that check e-mail open links, too."""
    now = timezone.now()
    try:
        errand = sign_in_links.errand_for(secret, browser=browser.digest(request), now=now)
        if request.method != "POST":
            return show(request, "link", errand)
        wallet = signing_in.redeem_link(errand, secret, now=now)
    except sign_in_links.LinkGoneError:
        return _link_gone(request, now)
    except sign_in_links.NotWaitingError:
        return render(request, "wallet/link_elsewhere.html", status=403)
    except signing_in.WalletSuspendedError:
        return show(request, "suspended", errand, status=403)
    return _signed_in(request, errand, wallet, now)


@require_http_methods(["GET", "HEAD", "POST"])
@on_errand
def switch(request: HttpRequest, errand: Errand, now: datetime) -> HttpResponse:
    """Somebody else is signed in here: go on as the one the errand is about, or go back."""
    session = sessions.current(request, now=now)
    if session is None or session.wallet.email == errand.email:
        return see_other("wallet_sign_in", errand.id)
    if request.method != "POST":
        return show(request, "switch", errand, other=session.wallet.email)
    response = see_other("wallet_sign_in", errand.id)
    sessions.end(request, response)
    rotate_token(request)
    return response


@require_POST
def sign_out(request: HttpRequest, errand_id: uuid.UUID | None = None) -> HttpResponse:
    """Ends the session of this browser, also when the errand has expired or belongs to another browser."""
    response = (
        see_other("wallet_errand_signed_out", errand_id) if errand_id else see_other("wallet_signed_out")
    )
    sessions.end(request, response)
    rotate_token(request)
    return response


@never_cache
@only_read
def signed_out(request: HttpRequest, errand_id: uuid.UUID | None = None) -> HttpResponse:
    """Says so; in the middle of an errand, with the ways on and back."""
    errand, lapsed = None, False
    if errand_id:
        try:
            errand = errands.recall(errand_id, browser.digest(request), timezone.now())
        except ErrandGoneError as gone:
            errand, lapsed = gone.errand, True
    return render(request, "wallet/signed_out.html", {"errand": errand, "lapsed": lapsed})


def _on_own_errand(request: HttpRequest, email: str, now: datetime) -> HttpResponse:
    secret, digest = browser.ensure(request)
    errand = errands.open_errand(
        browser=digest,
        email=email,
        return_to=reverse(HISTORY),
        leave_to=reverse("wallet_front_door"),
        now=now,
    )
    response = _send_code(request, errand, now)
    browser.remember(response, secret)
    return response


def _send_code(request: HttpRequest, errand: Errand, now: datetime) -> HttpResponse:
    try:
        by_link = "link" in request.POST
        signing_in.send_code(errand, client=browser.address(request), now=now, link=by_link)
    except signing_in.TooSoonError as too_soon:
        if not (signing_in.link_pending(errand, now=now) or signing_in.code_pending(errand, now=now)):
            return _not_now(request, errand, too_soon.retry_at, now, soon=True)
    except LimitReachedError as limit:
        return _not_now(request, errand, limit.retry_at, now, problem=_wait(limit.retry_at, now))
    except signing_in.NotSentError as failed:
        problem = _("The e-mail could not be sent just now. Please try again.")
        return _not_now(request, errand, failed.retry_at, now, problem=problem, status=503)
    return see_other("wallet_code", errand.id)


def _count_errand(request: HttpRequest, email: str, now: datetime) -> None:
    digest, client = browser.digest(request), browser.address(request)
    sign_in_allowances.count_errand(email, browser=digest, client=client, now=now)


def _not_now(
    request: HttpRequest, errand: Errand, retry_at: datetime, now: datetime, status: int = 429, **facts: Any
) -> HttpResponse:
    ready_in = _seconds_until(retry_at, now)
    page = show(request, "sign_in", errand, ready_in=ready_in, status=status, **facts)
    return again_after(ready_in, page)


def _redeem(request: HttpRequest, errand: Errand, form: CodeForm, now: datetime) -> HttpResponse | None:
    """Where to go with this code; None when the form should be shown again with what is wrong."""
    try:
        wallet = signing_in.redeem(
            errand, form.cleaned_data["code"], client=browser.address(request), now=now
        )
    except signing_in.WrongCodeError as wrong:
        form.add_error("code", _wrong(wrong.tries_left))
        return None
    except LimitReachedError:
        problem = _("Too many wrong codes came from your network. Have a link sent to you instead.")
        form.add_error(None, ValidationError(problem, code="by_link"))
        return None
    except signing_in.NoCodeError:
        # Perhaps the second of two clicks: then the first has signed in and the next page goes on.
        return see_other(reverse("wallet_sign_in", args=[errand.id], query={"lapsed": 1}))
    except signing_in.WalletSuspendedError:
        return show(request, "suspended", errand, status=403)
    return _signed_in(request, errand, wallet, now)


def _link_gone(request: HttpRequest, now: datetime) -> HttpResponse:
    """Perhaps the second of two clicks: then the first has signed in, and this one goes where it went."""
    session, digest = sessions.current(request, now=now), browser.digest(request)
    errand = session and sign_in_links.waiting(digest, session.wallet.email, now=now)
    if errand:
        return see_other(errand.return_to)
    return render(request, "wallet/link_gone.html", status=410)


def _signed_in(request: HttpRequest, errand: Errand, wallet: Wallet, now: datetime) -> HttpResponse:
    response = see_other(errand.return_to)
    sessions.start(request, response, wallet, now=now)
    rotate_token(request)
    return response


def _wrong(tries_left: int) -> ValidationError:
    if not tries_left:
        return ValidationError(_("That code no longer works. Send a new one."), code="used_up")
    text = ngettext(
        "That is not the code. You can try once more.",
        "That is not the code. You can try %(count)d more times.",
        tries_left,
    )
    return ValidationError(text, params={"count": tries_left}, code="wrong")


def _seconds_until(moment: datetime | None, now: datetime) -> int:
    """Whole seconds, at least one; 0 when there is nothing to wait for."""
    if moment is None or moment <= now:
        return 0
    return max(1, math.ceil((moment - now).total_seconds()))


def _wait(retry_at: datetime, now: datetime) -> str:
    seconds = _seconds_until(retry_at, now) or 1
    if seconds <= 90:
        return ngettext(
            "Wait %(count)d second and try again.",
            "Wait %(count)d seconds and try again.",
            seconds,
        ) % {"count": seconds}
    minutes = -(-seconds // 60)
    text = _("You’ve asked for too many codes. Wait %(count)d minutes and try again.")
    return text % {"count": minutes}
