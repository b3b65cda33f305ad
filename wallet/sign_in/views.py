"""The pages for signing in and out."""

import uuid
from datetime import datetime
from typing import Any

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from infra import browser, log_context
from infra.again import again_after
from infra.counts.counting import Counter
from infra.limits import LimitReachedError
from infra.reading import only_read
from wallet import redirect_tasks
from wallet.models import HolderSession, RedirectTask, Wallet
from wallet.redirect_tasks import RedirectTaskGoneError
from wallet.sign_in import allowances, known_browsers, links, sending, sessions
from wallet.sign_in import codes as signing_in
from wallet.sign_in.codes import wrong_code
from wallet.sign_in.decorators import NOT_ME, on_own_redirect_task, on_redirect_task, see_other, show
from wallet.sign_in.forms import CodeForm, EmailForm
from wallet.sign_in.reserved_addresses import AddressReservedError

HOME = "wallet_home"  # the page after a sign-in that no relying party requested
SIGN_INS = Counter("sign_ins", "Sign-ins of holders, for a request or to look at the wallet.", "purpose")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def front_door(request: HttpRequest) -> HttpResponse:
    """Sign-in that no relying party requested: asks for the e-mail address, then continues like any other."""
    now = timezone.now()
    if sessions.current(request, now=now):
        return see_other(HOME)
    form = EmailForm(request.POST or None)
    if not form.is_valid():
        return _ask_address(request, form, status=422 if form.is_bound else 200)
    email, digest, client = form.cleaned_data["email"], browser.digest(request), browser.address(request)
    try:
        allowances.count_redirect_task(email, browser=digest, client=client, now=now)
    except LimitReachedError as limit:
        form.add_error(None, sending.wait(limit.retry_at, now))
        return again_after(limit.retry_after(now), _ask_address(request, form, status=429))
    return on_own_redirect_task(
        request,
        email,
        lambda redirect_task: sending.send(request, redirect_task, now),
        return_to=HOME,
        leave_to="wallet_front_door",
        now=now,
    )


@require_http_methods(["GET", "HEAD", "POST"])
@on_redirect_task
def sign_in(request: HttpRequest, redirect_task: RedirectTask, now: datetime) -> HttpResponse:
    """Shows the requester and the e-mail address; on POST, sends the code."""
    session = sessions.current(request, now=now)
    if session and not redirect_tasks.is_for(redirect_task, session):
        return see_other("wallet_switch", redirect_task.id)
    if session and redirect_tasks.good_for(redirect_task, session):
        return see_other(redirect_task.return_to)
    if redirect_task.needs_passkey:  # no form of the page posts here
        return show(request, "sign_in_by_passkey", redirect_task, session)
    if redirect_task.asks_address:
        return _sign_in_as_anybody(request, redirect_task, session, now)
    if request.method == "POST":
        return sending.send(request, redirect_task, now)
    return show(request, "sign_in", redirect_task, session, **_why_here(request, session))


@require_http_methods(["GET", "HEAD", "POST"])
@on_redirect_task
def code(request: HttpRequest, redirect_task: RedirectTask, now: datetime) -> HttpResponse:
    """The form for the code; a signed-in holder is redirected to the redirect task's `return_to`."""
    session = sessions.current(request, now=now)
    if session and redirect_tasks.good_for(redirect_task, session):
        return see_other(redirect_task.return_to)
    if redirect_task.needs_passkey:
        return see_other("wallet_sign_in", redirect_task.id)
    waits = sending.waits(signing_in.may_send_at(redirect_task), now)
    if request.method != "POST":
        if signing_in.link_pending(redirect_task, now=now):
            return show(
                request, "link_sent", redirect_task, session, **waits, **_sending_state(redirect_task, now)
            )
        if not signing_in.code_pending(redirect_task, now=now):
            return see_other("wallet_sign_in", redirect_task.id)
        facts = waits | _sending_state(redirect_task, now)
        return show(request, "code", redirect_task, session, form=CodeForm(), **facts)
    form = CodeForm(request.POST)
    if form.is_valid() and (response := _redeem(request, redirect_task, form, now)):
        return response
    name = "code_used_up" if form.has_error("code", "used_up") else "code"
    by_link = form.has_error(NON_FIELD_ERRORS, "by_link")
    return show(request, name, redirect_task, session, form=form, by_link=by_link, status=422, **waits)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def link(request: HttpRequest, secret: str) -> HttpResponse:
    """The target of the link in an e-mail. Signs in on POST only, because mail scanners open links."""
    now = timezone.now()
    try:
        redirect_task = links.redirect_task_for(secret, browser=browser.digest(request), now=now)
        if request.method != "POST":
            return show(request, "link", redirect_task)
        is_known_browser = known_browsers.is_known(redirect_task.browser, redirect_task.email, now=now)
        wallet = signing_in.redeem_link(redirect_task, secret, now=now)
    except links.LinkGoneError:
        return _link_gone(request, now)
    except links.NotWaitingError:
        return render(request, "wallet/link_elsewhere.html", status=403)
    except signing_in.WalletSuspendedError:
        return show(request, "suspended", redirect_task, status=403)
    except AddressReservedError:
        return show(request, "address_reserved", redirect_task, status=403)
    return signed_in(request, redirect_task, wallet, is_known_browser=is_known_browser, now=now)


@require_http_methods(["GET", "HEAD", "POST"])
@on_redirect_task
def switch(request: HttpRequest, redirect_task: RedirectTask, now: datetime) -> HttpResponse:
    """For a browser that is signed in to another wallet: sign out and continue as the task's holder."""
    session = sessions.current(request, now=now)
    if session is None or redirect_tasks.is_for(redirect_task, session):
        return see_other("wallet_sign_in", redirect_task.id)
    if request.method != "POST":
        return show(request, "switch", redirect_task, other=session.wallet.email)
    return sessions.end(request, see_other("wallet_sign_in", redirect_task.id))


@require_POST
def sign_out(request: HttpRequest, redirect_task_id: uuid.UUID | None = None) -> HttpResponse:
    """Ends the session of this browser, even if the task has expired or belongs to another browser."""
    to = ["wallet_errand_signed_out", redirect_task_id] if redirect_task_id else ["wallet_signed_out"]
    return sessions.end(request, see_other(*to))


@never_cache
@only_read
def signed_out(request: HttpRequest, redirect_task_id: uuid.UUID | None = None) -> HttpResponse:
    """The page after signing out; for a redirect task, with links to continue and to return."""
    redirect_task, lapsed = None, False
    if redirect_task_id:
        try:
            redirect_task = redirect_tasks.load(redirect_task_id, browser.digest(request), timezone.now())
        except RedirectTaskGoneError as gone:
            redirect_task, lapsed = gone.redirect_task, True
    return render(request, "wallet/signed_out.html", {"redirect_task": redirect_task, "lapsed": lapsed})


def _sign_in_as_anybody(
    request: HttpRequest, redirect_task: RedirectTask, session: HolderSession | None, now: datetime
) -> HttpResponse:
    """The sign-in of a task without an expected holder: asks for an address, or offers the present one."""
    facts = _why_here(request, session)
    lapsed = redirect_task.email if "lapsed" in request.GET else ""
    address = session.wallet.email if session else lapsed
    if request.method != "POST" and address and "other" not in request.GET:
        return show(request, "sign_in", redirect_task, session, address=address, **facts)
    if request.method == "POST" and redirect_task.email and "email" not in request.POST:
        return sending.send(request, redirect_task, now)  # the same address once more
    form = EmailForm(request.POST if request.method == "POST" else None)
    if not form.is_valid():
        facts |= {"form": form, "again": False}
        return show(request, "sign_in", redirect_task, session, status=422 if form.is_bound else 200, **facts)
    email, client = form.cleaned_data["email"], browser.address(request)
    try:
        allowances.count_redirect_task(email, browser=redirect_task.browser, client=client, now=now)
    except LimitReachedError as limit:
        form.add_error(None, sending.wait(limit.retry_at, now))
        page = show(request, "sign_in", redirect_task, session, status=429, form=form)
        return again_after(limit.retry_after(now), page)
    redirect_tasks.take_address(redirect_task, email)
    return sending.send(request, redirect_task, now)


def _why_here(request: HttpRequest, session: HolderSession | None) -> dict[str, Any]:
    """The sentence on the sign-in page that says why the person is there."""
    lapsed = _("That code no longer works. Send a new one.") if "lapsed" in request.GET else ""
    return {"again": bool(session), "problem": lapsed, "not_me": NOT_ME in request.GET}


def _ask_address(request: HttpRequest, form: EmailForm, *, status: int) -> HttpResponse:
    """The front door, which gives the browser its secret before its form and its script ask at once.

    Otherwise both answers would bring a new secret, and the later one would replace that of the task.
    """
    secret, _digest = browser.ensure(request)
    page = render(request, "wallet/front_door.html", {"form": form}, status=status)
    browser.remember(page, secret)
    return page


def _sending_state(redirect_task: RedirectTask, now: datetime) -> dict[str, Any]:
    """The state of the e-mail, which is sent only after the response that requests it."""
    return {"email_state": signing_in.sending_state(redirect_task, now=now)}


def _redeem(
    request: HttpRequest, redirect_task: RedirectTask, form: CodeForm, now: datetime
) -> HttpResponse | None:
    """The response for this code; None if the form has to be shown again with its errors."""
    is_known_browser = known_browsers.is_known(redirect_task.browser, redirect_task.email, now=now)
    try:
        wallet = signing_in.redeem(
            redirect_task, form.cleaned_data["code"], client=browser.address(request), now=now
        )
    except signing_in.WrongCodeError as wrong:
        form.add_error("code", wrong_code(wrong.tries_left))
        return None
    except LimitReachedError:
        problem = _("Too many wrong codes came from your network. Have a link sent to you instead.")
        form.add_error(None, ValidationError(problem, code="by_link"))
        return None
    except signing_in.NoCodeError:
        # If this is a second click, the first has signed in, and the next page redirects onwards.
        return see_other(reverse("wallet_sign_in", args=[redirect_task.id], query={"lapsed": 1}))
    except signing_in.WalletSuspendedError:
        return show(request, "suspended", redirect_task, status=403)
    except AddressReservedError:
        return show(request, "address_reserved", redirect_task, status=403)
    return signed_in(request, redirect_task, wallet, is_known_browser=is_known_browser, now=now)


def _link_gone(request: HttpRequest, now: datetime) -> HttpResponse:
    """The page for a used or expired link. After a second click, redirects like the first."""
    session, digest = sessions.current(request, now=now), browser.digest(request)
    redirect_task = session and links.waiting(digest, session.wallet.email, now=now)
    if redirect_task:
        return see_other(redirect_task.return_to)
    return render(request, "wallet/link_gone.html", status=410)


def signed_in(
    request: HttpRequest,
    redirect_task: RedirectTask,
    wallet: Wallet,
    *,
    is_known_browser: bool,
    by_passkey: bool = False,
    now: datetime,
) -> HttpResponse:
    """Starts the session, and redirects to where the redirect task leads.

    is_known_browser: whether this browser had signed in with the address before.
    """
    response = see_other(redirect_task.return_to)
    sessions.start(request, response, wallet, by_passkey=by_passkey, now=now)
    purpose = "request" if redirect_task.on_behalf_of else "wallet"
    SIGN_INS.add(purpose)
    log_context.bind(signed_in=purpose)
    known_browsers.tell_of_new_browser(request, wallet, is_known_browser=is_known_browser, now=now)
    return response
