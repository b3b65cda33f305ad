"""The pages of identity verification. One address shows the page for the present state of the attempt."""

import uuid
from contextlib import suppress
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from infra import browser
from infra.limits import LimitReachedError
from infra.reading import only_read
from wallet import redirect_tasks
from wallet.credential import claims, credentials
from wallet.credential.validity import validity
from wallet.identity import attempts, notices, progress, state_machine
from wallet.identity.attempts import CoolDownError
from wallet.identity.enrollment import HeldError, check_not_held
from wallet.identity.state_machine import ForbiddenMoveError
from wallet.identity.views import page
from wallet.models import Credential, HolderSession, IdentityVerification, RedirectTask, Wallet
from wallet.providers import registry
from wallet.providers.contract import ProviderError
from wallet.providers.findings import PICTURE_REASONS, REASONS
from wallet.providers.in_person import InPerson, qr_code
from wallet.sign_in.decorators import for_holder, for_signed_in, on_own_redirect_task, see_other

State = IdentityVerification.State

# What each state looks like; the others show the first page, from which a new attempt begins.
PAGES = {
    State.STARTED: "started",
    State.SUBMITTED: "waiting",
    State.PROCESSING: "waiting",
    State.RESUBMIT: "again",
    State.REVIEW: "review",
    State.ERROR: "error",
}
TAKES_LONG_AFTER = 60  # seconds; then the waiting page says so and, without scripts, asks less often


@only_read
@for_holder
def identity(
    request: HttpRequest, redirect_task: RedirectTask, wallet: Wallet, now: datetime
) -> HttpResponse:
    """The page for the state of the attempt; redirects to `return_to` once the holder is verified."""
    notices.seen(wallet)
    if _is_done(redirect_task, wallet, now):
        return see_other(redirect_task.return_to)
    verification = attempts.latest(wallet)
    if verification is not None and verification.state in state_machine.OPEN:
        attempts.for_redirect_task(verification, redirect_task)
        progress.refresh(verification, now=now)
        if verification.state == State.APPROVED:
            wallet = Wallet.objects.select_related("credential").get(id=wallet.id)
            if _is_done(redirect_task, wallet, now):
                return see_other(redirect_task.return_to)
    return _page(request, redirect_task, wallet, verification, now)


@require_POST
@for_holder
def begin(request: HttpRequest, redirect_task: RedirectTask, wallet: Wallet, now: datetime) -> HttpResponse:
    """Starts an attempt with the chosen provider, or another submission, and leads to the provider."""
    offered = page.offered(redirect_task)
    only = next(iter(offered)) if len(offered) == 1 else ""
    provider = request.POST.get("provider", only)
    if provider not in offered or not state_machine.SUBMISSIONS.left(str(wallet.id), now=now):
        return see_other("wallet_identity", redirect_task.id)
    try:
        attempts.STARTS.take(str(wallet.id), now=now)
        verification = attempts.attempt(wallet, redirect_task, provider, now=now)
        address = progress.begin(verification, now=now)
    except (CoolDownError, HeldError, ForbiddenMoveError):
        return see_other("wallet_identity", redirect_task.id)
    except LimitReachedError as limit:
        return page.paused(request, redirect_task, wallet, limit, now)
    except ProviderError as error:
        return page.failed(request, redirect_task, wallet, error)
    # The CSP's `form-action` would block a redirect to another site, so the next page has a link to it.
    return see_other(address) if address.startswith("/") else see_other("wallet_identity", redirect_task.id)


@only_read
@for_holder
def go_on(request: HttpRequest, redirect_task: RedirectTask, wallet: Wallet, now: datetime) -> HttpResponse:
    """Redirects to the provider of a check that has begun."""
    verification = attempts.latest(wallet)
    if verification is None or not state_machine.SUBMISSIONS.left(str(wallet.id), now=now):
        return see_other("wallet_identity", redirect_task.id)
    attempts.for_redirect_task(verification, redirect_task)
    try:
        attempts.STARTS.take(str(wallet.id), now=now)
        address = progress.go_on(verification, now=now)
    except ForbiddenMoveError:
        return see_other("wallet_identity", redirect_task.id)
    except LimitReachedError as limit:
        return page.paused(request, redirect_task, wallet, limit, now)
    except ProviderError as error:
        return page.failed(request, redirect_task, wallet, error)
    return HttpResponseRedirect(address)


@require_POST
@for_holder
def cancel(request: HttpRequest, redirect_task: RedirectTask, wallet: Wallet, now: datetime) -> HttpResponse:
    """Ends the attempt if nothing was submitted. The next page shows its state."""
    verification = attempts.latest(wallet)
    if verification is not None:
        with suppress(ForbiddenMoveError):  # then the page shows where it stands instead
            state_machine.cancel(verification, now=now)
    return see_other("wallet_identity", redirect_task.id)


@require_http_methods(["GET", "HEAD", "POST"])
@for_holder
def in_person(
    request: HttpRequest, redirect_task: RedirectTask, wallet: Wallet, now: datetime
) -> HttpResponse:
    """The page of the check in person: where to go and what to bring. Its button asks for the visit."""
    verification, provider = page.latest_with(wallet, InPerson)
    if request.method == "POST":
        with suppress(ForbiddenMoveError, LimitReachedError):
            state_machine.submit(verification, now=now)
            progress.refresh(verification, now=now)
    elif verification.state == State.STARTED:
        return page.show(
            request, "identity_in_person", redirect_task, wallet, provider=provider, verification=verification
        )
    return see_other("wallet_identity", redirect_task.id)


@never_cache
@only_read
def back(request: HttpRequest, verification_id: uuid.UUID) -> HttpResponse:
    """Where a provider sends the browser. Redirects to the redirect task, which may ask for a sign-in."""
    verification = (
        IdentityVerification.objects.select_related("redirect_task").filter(id=verification_id).first()
    )
    redirect_task = verification.redirect_task if verification else None
    if verification is None or redirect_task is None:
        return see_other("wallet_front_door")
    if redirect_task.browser != browser.digest(request):  # perhaps finished on a phone; the result counts
        return render(request, "wallet/identity_elsewhere.html", {"counts": True})
    progress.came_back(verification, now=timezone.now())
    return see_other("wallet_identity", redirect_task.id)


@require_http_methods(["GET", "HEAD", "POST"])
@for_signed_in
def own_identity(request: HttpRequest, session: HolderSession, now: datetime) -> HttpResponse:
    """On POST, leads to a check that renews; what the holder has stays valid until that is approved.

    Otherwise redirects to the home page, which shows the identity: checks return here, and old e-mails and
    bookmarks lead here.
    """
    if request.method != "POST":
        return see_other("wallet_home")
    credential: Credential | None = getattr(session.wallet, "credential", None)
    return on_own_redirect_task(
        request,
        session.wallet.email,
        lambda redirect_task: see_other("wallet_identity", redirect_task.id),
        return_to="wallet_own_identity",
        leave_to="wallet_own_identity",
        reuse=Q(renewal=True) & (Q(created_at__gte=credential.issued_at) if credential else Q()),
        renewal=True,
        now=now,
    )


def _is_done(redirect_task: RedirectTask, wallet: Wallet, now: datetime) -> bool:
    """Whether the holder's identity meets the task's demands: its assurance, and its renewal if needed."""
    credential = credentials.valid_credential(wallet, now=now)
    if credential is None or (redirect_task.renewal and credential.issued_at <= redirect_task.created_at):
        return False
    return credentials.reaches(credential, redirect_tasks.demanded(redirect_task), redirect_task.details)


def _page(
    request: HttpRequest,
    redirect_task: RedirectTask,
    wallet: Wallet,
    verification: IdentityVerification | None,
    now: datetime,
) -> HttpResponse:
    name, facts = _state_page(verification, wallet, now)
    if name == "start" and not page.offered(redirect_task):  # its provider is gone
        name = "none"
    credential: Credential | None = getattr(wallet, "credential", None)
    facts |= {
        "verification": verification,
        "provider": registry.by_name(verification.provider) if verification else None,
        "credential": credential,
        "validity": validity(credential, now=now).value,
        "last_day": credential and credentials.last_day(credential),
        "kept_days": settings.IDENTITY_KEPT.days,
        "needs": claims.details_in_words(redirect_task.details),
        "also_kept": claims.details_in_words(
            group for provider in page.offered(redirect_task).values() for group in provider.details
        ),
        "asks_for": claims.labels(map(claims.named, filter(claims.is_named, redirect_task.asks_for))),
    }
    return page.show(request, f"identity_{name}", redirect_task, wallet, **facts)


def _state_page(
    verification: IdentityVerification | None, wallet: Wallet, now: datetime
) -> tuple[str, dict[str, Any]]:
    """The name of the page, and its facts about the attempt."""
    try:
        check_not_held(wallet)
    except HeldError:
        return "held", {}
    if until := attempts.cooling_down_until(verification, now=now):
        return "declined", {"until": until, "reason": _reason(verification)}
    name = PAGES.get(State(verification.state), "start") if verification else "start"
    submissions = state_machine.SUBMISSIONS
    if name in ("start", "started", "again", "error") and not submissions.left(str(wallet.id), now=now):
        return "paused", {"until": submissions.renewed_at(now)}
    facts: dict[str, Any] = {"reason": _reason(verification)}
    if name == "again" and verification:
        facts["tries_left"] = attempts.tries_left(verification, now=now)
        facts["photo_tips"] = verification.reason in PICTURE_REASONS
    if name == "review" and verification and verification.reason == "in_person":
        return "visit", {"qr_code": qr_code(verification.provider_reference)}
    if name == "started" and verification and verification.returned_at:
        name = "waiting"
    if name == "waiting" and verification:
        since = verification.changed_at
        if verification.state == State.STARTED and verification.returned_at:
            since = verification.returned_at
        facts["long"] = (now - since).total_seconds() > TAKES_LONG_AFTER
    return name, facts


def _reason(verification: IdentityVerification | None) -> str:
    return str(REASONS.get(verification.reason, "")) if verification else ""
