"""Signing in with a passkey, and what scripts fetch before they ask for one.

None of this depends on whether the address of a task has a wallet: any passkey of this service may be
offered, and the wallet is known only when its signature is right.
"""

import uuid
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any

import structlog
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from infra import browser
from infra.again import again_after
from infra.limits import ClientLimit, LimitReachedError
from wallet import redirect_tasks
from wallet.account import fresh
from wallet.models import Passkey, RedirectTask, Wallet
from wallet.passkeys import assertion, options, problem_page
from wallet.passkeys.assertion import Purpose
from wallet.passkeys.errors import PasskeyError
from wallet.passkeys.problem_page import POSTED
from wallet.sign_in import known_browsers, sessions
from wallet.sign_in.decorators import on_own_redirect_task, on_redirect_task, see_other, show
from wallet.sign_in.views import HOME, signed_in

log = structlog.get_logger(__name__)

# Every page of the sign-in fetches a challenge for the list of passkeys that browsers show in a field.
CHALLENGES_PER_CLIENT = ClientLimit.from_settings("passkey-challenges-per-client")


@require_POST
@never_cache
def options_at_front_door(request: HttpRequest) -> HttpResponse:
    """Options for signing in without a request of a relying party."""
    secret, digest = browser.ensure(request)
    response = challenge(request, options.to_sign, Purpose.SIGN_IN, bound_to=digest)
    browser.remember(response, secret)
    return response


@require_POST
@on_redirect_task
def options_on_redirect_task(
    request: HttpRequest, redirect_task: RedirectTask, now: datetime
) -> HttpResponse:
    """Options for signing in on a redirect task."""
    return challenge(
        request,
        options.to_sign,
        Purpose.SIGN_IN,
        bound_to=redirect_task.browser,
        subject=str(redirect_task.id),
    )


@require_POST
@never_cache
def options_to_confirm(request: HttpRequest, subject: uuid.UUID) -> HttpResponse:
    """Options for a fresh factor of the signed-in holder, for the question with this ID."""
    session = sessions.current(request, now=timezone.now())
    if session is None:
        return JsonResponse({"refused": "not signed in"}, status=403)
    make_options = partial(options.to_sign, passkeys=session.wallet.passkeys.all())
    return challenge(request, make_options, Purpose.CONFIRM, bound_to=session.digest, subject=str(subject))


@require_POST
@never_cache
def options_to_add(request: HttpRequest) -> HttpResponse:
    """Options for a new passkey of the signed-in holder."""
    now = timezone.now()
    session = sessions.current(request, now=now)
    if session is None or not fresh.is_fresh(session, now=now):
        return JsonResponse({"refused": "sign in again"}, status=403)
    return challenge(request, partial(options.to_add, session.wallet), Purpose.ADD, bound_to=session.digest)


@require_POST
@on_redirect_task
def sign_in(request: HttpRequest, redirect_task: RedirectTask, now: datetime) -> HttpResponse:
    """Signs in with a passkey of the wallet with the redirect task's address, and goes on like after a code.

    On a redirect task without an address, with a passkey of any wallet.
    """
    session = sessions.current(request, now=now)
    if session and redirect_tasks.good_for(redirect_task, session):  # a second click
        return see_other(redirect_task.return_to)
    try:
        passkey = _prove(request, bound_to=redirect_task.browser, subject=str(redirect_task.id), now=now)
        if not redirect_task.asks_address and passkey.wallet.email != redirect_task.email:
            raise PasskeyError("other")
    except PasskeyError as error:
        return problem_page.problem(
            request,
            error,
            back=reverse("wallet_sign_in", args=[redirect_task.id]),
            redirect_task=redirect_task,
        )
    return _enter(request, redirect_task, passkey.wallet, now)


@require_POST
@never_cache
def sign_in_at_front_door(request: HttpRequest) -> HttpResponse:
    """Signs in to the wallet of the passkey, whichever it is."""
    now = timezone.now()
    if sessions.current(request, now=now):
        return see_other(HOME)
    try:
        passkey = _prove(request, bound_to=browser.ensure(request)[1], subject="", now=now)
    except PasskeyError as error:
        return problem_page.problem(request, error, back=reverse("wallet_front_door"))
    return on_own_redirect_task(
        request,
        passkey.wallet.email,
        lambda redirect_task: _enter(request, redirect_task, passkey.wallet, now),
        return_to=HOME,
        leave_to="wallet_front_door",
        now=now,
    )


def challenge(
    request: HttpRequest,
    make_options: Callable[[bytes], dict[str, Any]],
    purpose: Purpose,
    *,
    bound_to: str,
    subject: str = "",
) -> HttpResponse:
    """Options with a new challenge; counted by client address, because each is a row."""
    now = timezone.now()
    try:
        CHALLENGES_PER_CLIENT.take(browser.address(request), now=now)
    except LimitReachedError as limit:
        refused = JsonResponse({"refused": "too many requests"}, status=429)
        return again_after(limit.retry_after(now), refused)
    return JsonResponse(
        make_options(assertion.make_challenge(purpose, bound_to=bound_to, subject=subject, now=now))
    )


def _prove(request: HttpRequest, *, bound_to: str, subject: str, now: datetime) -> Passkey:
    posted = request.POST.get(POSTED, "")
    return assertion.prove(posted, Purpose.SIGN_IN, bound_to=bound_to, subject=subject, now=now)


def _enter(request: HttpRequest, redirect_task: RedirectTask, wallet: Wallet, now: datetime) -> HttpResponse:
    """The same as after a right code."""
    if not wallet.can_sign_in:
        return show(request, "suspended", redirect_task, status=403)
    is_known_browser = known_browsers.is_known(redirect_task.browser, wallet.email, now=now)
    known_browsers.remember(redirect_task.browser, wallet.email, now=now)
    log.info("holder_signed_in", wallet=str(wallet.id), new=False, passkey=True)
    return signed_in(
        request, redirect_task, wallet, is_known_browser=is_known_browser, by_passkey=True, now=now
    )
