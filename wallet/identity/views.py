"""Pages of identity verification: one address shows whatever fits the state of the attempt."""

import uuid
from contextlib import suppress
from datetime import datetime
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods, require_POST

from infra import browser
from infra.again import again_after
from infra.limits import LimitReachedError
from infra.reading import only_read
from wallet import credentials, providers
from wallet.identity import attempts, state_machine
from wallet.identity.attempts import CoolDownError
from wallet.identity.enrollment import HeldError, check_not_held
from wallet.identity.state_machine import ForbiddenMoveError
from wallet.models import Errand, IdentityVerification, Wallet
from wallet.pages import for_holder, see_other
from wallet.providers import ProviderError

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
def identity(request: HttpRequest, errand: Errand, wallet: Wallet, now: datetime) -> HttpResponse:
    """The hub: where the attempt stands, or on to where the errand leads once verified."""
    if credentials.valid_credential(wallet, now=now):
        return see_other(errand.return_to)
    verification = attempts.latest(wallet)
    if verification is not None and verification.state in state_machine.OPEN:
        attempts.for_errand(verification, errand)
        state_machine.refresh(verification, now=now)
        if verification.state == State.APPROVED:
            return see_other(errand.return_to)
    name, facts = _page(verification, wallet, now)
    facts |= {"errand": errand, "signed_in_as": wallet.email, "verification": verification}
    return render(request, f"wallet/identity_{name}.html", facts)


@require_POST
@for_holder
def begin(request: HttpRequest, errand: Errand, wallet: Wallet, now: datetime) -> HttpResponse:
    """Begin, or begin again after a try that did not do; then off to the provider."""
    try:
        verification = attempts.attempt(wallet, errand, now=now)
        state_machine.begin(verification, now=now)
    except (CoolDownError, HeldError, ForbiddenMoveError):
        return see_other("wallet_identity", errand.id)
    except LimitReachedError as limit:
        facts = {"errand": errand, "signed_in_as": wallet.email, "until": limit.retry_at}
        page = render(request, "wallet/identity_paused.html", facts, status=429)
        return again_after(limit.retry_after(now), page)
    except ProviderError:
        facts = {"errand": errand, "signed_in_as": wallet.email}
        return again_after(60, render(request, "wallet/identity_error.html", facts, status=503))
    address = providers.configured().address(verification)
    # Elsewhere only by a link: `form-action` would stop the redirect that follows a form.
    return see_other(address) if address.startswith("/") else see_other("wallet_identity", errand.id)


@require_POST
@for_holder
def cancel(request: HttpRequest, errand: Errand, wallet: Wallet, now: datetime) -> HttpResponse:
    """Stop the attempt, if nothing was submitted; the page that follows leads back."""
    verification = attempts.latest(wallet)
    if verification is not None:
        with suppress(ForbiddenMoveError):  # then the hub shows where it stands instead
            state_machine.cancel(verification, now=now)
    return see_other("wallet_identity", errand.id)


@require_http_methods(["GET", "HEAD", "POST"])
@for_holder
def in_person(request: HttpRequest, errand: Errand, wallet: Wallet, now: datetime) -> HttpResponse:
    """For the operator's check: what to bring; a click hands the attempt to the operators."""
    verification = attempts.latest(wallet)
    if verification is None or providers.configured().address(verification) != request.path:
        raise Http404
    if request.method == "POST":
        with suppress(ForbiddenMoveError, LimitReachedError):
            state_machine.submit(verification, now=now)
            state_machine.refresh(verification, now=now)
    elif verification.state == State.STARTED:
        facts = {"errand": errand, "signed_in_as": wallet.email}
        return render(request, "wallet/identity_in_person.html", facts)
    return see_other("wallet_identity", errand.id)


@only_read
def back(request: HttpRequest, verification_id: uuid.UUID) -> HttpResponse:
    """Where a provider sends the browser: on to the errand, which asks for a sign-in if need be."""
    verification = IdentityVerification.objects.select_related("errand").filter(id=verification_id).first()
    errand = verification.errand if verification else None
    if errand is None or errand.browser != browser.digest(request):
        return see_other("wallet_front_door")
    return see_other("wallet_identity", errand.id)


def _page(
    verification: IdentityVerification | None, wallet: Wallet, now: datetime
) -> tuple[str, dict[str, Any]]:
    """Which page, and what it says."""
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
    if name == "started" and verification:
        facts["address"] = providers.configured().address(verification)
    if name == "again" and verification:
        facts["tries_left"] = attempts.tries_left(verification, now=now)
    if name == "waiting" and verification:
        facts["long"] = (now - verification.changed_at).total_seconds() > TAKES_LONG_AFTER
    return name, facts


def _reason(verification: IdentityVerification | None) -> str:
    return str(providers.REASONS.get(verification.reason, "")) if verification else ""
