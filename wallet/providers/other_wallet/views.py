"""The page of a check with another wallet: the link for this device, or the QR code for another one."""

from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any

import segno
import structlog
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.safestring import mark_safe
from django.views.decorators.http import require_http_methods

from infra.again import again_after
from wallet import errands
from wallet.identity import attempts, progress
from wallet.identity.progress import Start
from wallet.identity.state_machine import ForbiddenMoveError
from wallet.models import Errand, IdentityVerification, Wallet
from wallet.pages import for_holder, see_other
from wallet.providers import registry
from wallet.providers.contract import ProviderError
from wallet.providers.other_wallet.forms import AboutYouForm
from wallet.providers.other_wallet.provider import OtherWallet
from wallet.providers.other_wallet.transactions import CODE, Transaction

log = structlog.get_logger(__name__)
State = IdentityVerification.State


@require_http_methods(["GET", "HEAD", "POST"])
@for_holder
def page(request: HttpRequest, errand: Errand, wallet: Wallet, now: datetime) -> HttpResponse:
    """What the person can do now; a click begins a request for this device or for another one."""
    verification = attempts.latest(wallet)
    provider = registry.by_name(verification.provider) if verification else None
    if verification is None or not isinstance(provider, OtherWallet):
        raise Http404
    if verification.state == State.STARTED:
        attempts.for_errand(verification, errand)
        progress.refresh(verification, now=now)
    if verification.state != State.STARTED:
        return see_other("wallet_identity", errand.id)
    form = AboutYouForm(request.POST if request.POST.get("device") == "other" else None)
    facts: dict[str, Any] = {
        "errand": errand,
        "signed_in_as": wallet.email,
        "provider": provider,
        "form": form,
        "providers": registry.reaching(errands.demanded(errand)),
    }
    if request.method == "POST" and (start := _chosen(provider, form, request.POST.get("device", ""))):
        try:
            with suppress(ForbiddenMoveError):  # something came in: the page shows it
                progress.go_on(verification, now=now, start=start)
        except ProviderError as error:
            log.warning("identity_check_not_begun", why=str(error))
            facts["providers"] = {}
            return again_after(60, render(request, "wallet/identity_error.html", facts, status=503))
        return see_other("wallet_identity_other_wallet", errand.id)
    return render(request, "wallet/other_wallet.html", facts | _shown(verification, provider, form, now))


def _chosen(provider: OtherWallet, form: AboutYouForm, device: str) -> Start | None:
    """The request that the person asks for; None if what they typed will not do."""
    if device == "this":
        return provider.by_link
    if device == "other" and provider.qr != "off" and form.is_valid():
        return partial(provider.by_code, typed=form.cleaned_data["typed"])
    return None


def _shown(
    verification: IdentityVerification, provider: OtherWallet, form: AboutYouForm, now: datetime
) -> dict[str, Any]:
    """Which part of the page, and what it says. Never anything that was read from a wallet."""
    check = progress.check_of(verification)
    transaction = Transaction.kept_in(check.reference, check.memory)
    if transaction is None or form.is_bound:
        return {"part": "typing" if form.is_bound else "over"}
    if transaction.is_settled():
        return {"part": "settled"}
    if transaction.needs_return():
        return {"part": "elsewhere"}
    if not transaction.waits(now):
        return {"part": "over"}
    link = provider.link(check, transaction)
    if transaction.kind == CODE:
        return {"part": "code", "link": link, "picture": _picture(link)}
    return {"part": "link", "link": link}


def _picture(link: str) -> str:
    """The QR code as SVG. Black on white also in the dark, for the readers that need it; no styles (CSP)."""
    code = segno.make(link, error="m", micro=False)
    svg = code.svg_inline(dark="#000", light="#fff", svgclass=None, lineclass=None, omitsize=True)
    return mark_safe(svg)  # noqa: S308 (made by the library; it holds the link as lines, not as text)
