"""Begins a check with which holders confirm, renew or change their verified identity."""

from datetime import datetime

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from infra import browser
from wallet import errands
from wallet.models import Credential, Errand, HolderSession, Wallet
from wallet.pages import for_signed_in, see_other


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@for_signed_in
def own_identity(request: HttpRequest, session: HolderSession, now: datetime) -> HttpResponse:
    """On POST, leads to a check that renews; what the holder has stays valid until that is approved.

    Otherwise redirects to the home page, which shows the identity: checks return here, and old e-mails and
    bookmarks lead here.
    """
    if request.method == "POST":
        return _renew(request, session.wallet, now)
    return see_other("wallet_home")


def _renew(request: HttpRequest, wallet: Wallet, now: datetime) -> HttpResponse:
    secret, digest = browser.ensure(request)
    errand = _open_renewal(wallet, digest, now)
    if errand is None:
        errand = errands.open_errand(
            browser=digest,
            email=wallet.email,
            return_to=reverse("wallet_own_identity"),
            leave_to=reverse("wallet_own_identity"),
            renewal=True,
            now=now,
        )
    response = see_other("wallet_identity", errand.id)
    browser.remember(response, secret)
    return response


def _open_renewal(wallet: Wallet, digest: str, now: datetime) -> Errand | None:
    """An errand of an earlier click, so that clicks do not fill the table."""
    open_ones = Errand.objects.filter(browser=digest, email=wallet.email, renewal=True)
    newest = open_ones.filter(expires_at__gt=now + errands.LIFETIME / 2).order_by("-created_at").first()
    credential: Credential | None = getattr(wallet, "credential", None)
    if newest is None or (credential is not None and credential.issued_at > newest.created_at):
        return None
    return newest
