"""The page at which holders arrive: their verified identity as a card, and what to do next."""

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from infra.reading import only_read
from wallet.credential import credentials, days
from wallet.credential.evidence import METHODS
from wallet.credential.validity import Validity, validity
from wallet.identity import attempts, state_machine
from wallet.models import Credential, HolderSession, IdentityEvidence, Wallet
from wallet.sign_in.decorators import for_signed_in, see_other

ENDS_SOON = timedelta(days=30)  # the first e-mail about the end is sent then, see `identity.notices`
ENDING = "ending"  # valid, but only for less than ENDS_SOON


@only_read
@for_signed_in
def home(request: HttpRequest, session: HolderSession, now: datetime) -> HttpResponse:
    """The card of the signed-in holder. The wallet of a suspended holder has no session: they sign in anew,
    and that page says that it is suspended."""
    return render(request, "wallet/home.html", _card(session.wallet, now=now))


@require_POST
@for_signed_in
def switch_share_emails(request: HttpRequest, session: HolderSession, now: datetime) -> HttpResponse:
    """Switches “You shared …” e-mails on, or with every other value off, and leads back to the receipts."""
    Wallet.objects.filter(id=session.wallet_id).update(share_emails=request.POST.get("share_emails") == "on")
    return see_other("consent_history")


def _card(wallet: Wallet, *, now: datetime) -> dict[str, Any]:
    credential: Credential | None = getattr(wallet, "credential", None)
    state, newest = _state(credential, now=now), attempts.latest(wallet)
    shown: dict[str, Any] = {}
    if credential and state in (Validity.VALID, ENDING):  # so it opens
        shown = {"name": credentials.full_name(credential), "evidence": _evidence(credential)}
        today = days.of_ages(now, settings.AGE_TIME_ZONE)
        shown["values"] = credentials.own_values(credential, today=today)
    return {
        "here": "home",
        "signed_in_as": wallet.email,
        "validity": state,
        "credential": credential,
        "last_day": credential and credentials.last_day(credential),
        "check": newest if newest and newest.state in state_machine.OPEN else None,
        "again_at": attempts.cooling_down_until(newest, now=now),
        **shown,
    }


def _state(credential: Credential | None, *, now: datetime) -> str:
    """The validity as a word, with ENDING beside the words of `validity`."""
    state = validity(credential, now=now)
    if state == Validity.VALID and credential and credential.expires_at <= now + ENDS_SOON:
        return ENDING
    return state.value


def _evidence(credential: Credential) -> dict[str, object] | None:
    """How the identity was verified, in words; None if an earlier release did not write that down."""
    evidence = IdentityEvidence.objects.filter(verification=credential.verification_id).first()
    if evidence is None:
        return None
    words = METHODS[evidence.method][0] if evidence.method in METHODS else evidence.method
    return {"method": words, "by": evidence.verified_by, "at": evidence.verified_at}
