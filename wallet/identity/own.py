"""The holder's page about their verified identity: until when it is valid, and how to renew or change it."""

from datetime import datetime

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from infra import browser
from wallet import credentials, errands, sessions
from wallet.evidence import METHODS
from wallet.identity import attempts, state_machine
from wallet.models import Credential, Errand, Evidence, Wallet
from wallet.pages import see_other
from wallet.validity import validity


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def own_identity(request: HttpRequest) -> HttpResponse:
    """Shows the identity; on POST, leads to a check that renews it. It stays valid until that is approved."""
    now = timezone.now()
    session = sessions.current(request, now=now)
    if session is None:
        return see_other("wallet_front_door")
    wallet = session.wallet
    if request.method == "POST":
        return _renew(request, wallet, now)
    credential: Credential | None = getattr(wallet, "credential", None)
    newest = attempts.latest(wallet)
    facts = {
        "signed_in_as": wallet.email,
        "validity": validity(credential, now=now).value,
        "credential": credential,
        "last_day": credential and credentials.last_day(credential),
        "evidence": credential and _evidence(credential),
        "under_way": newest is not None and newest.state in state_machine.OPEN,
    }
    return render(request, "wallet/identity_own.html", facts)


def _evidence(credential: Credential) -> dict[str, object] | None:
    """How the identity was verified, in words; None if an earlier release did not write that down."""
    evidence = Evidence.objects.filter(verification=credential.verification_id).first()
    if evidence is None:
        return None
    words = METHODS[evidence.method][0] if evidence.method in METHODS else evidence.method
    return {"method": words, "by": evidence.verified_by, "at": evidence.verified_at}


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
