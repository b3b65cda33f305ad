"""The sandbox's own pages: the simulated identity check, and the mailbox."""

import uuid

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from infra.reading import only_read
from sandbox import mailbox as mailboxes
from sandbox.identity_provider import callbacks
from sandbox.identity_provider.forms import OutcomeForm
from sandbox.identity_provider.personas import OUTCOMES
from sandbox.models import PickedOutcome
from wallet import sessions
from wallet.models import IdentityVerification
from wallet.pages import see_other

State = IdentityVerification.State


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def identity(request: HttpRequest, verification_id: uuid.UUID) -> HttpResponse:
    """Plays the provider's page: pick an outcome, submit it, go back to the wallet."""
    now = timezone.now()
    session = sessions.current(request, now=now)
    if session is None:
        return see_other("wallet_identity_return", verification_id)
    own = IdentityVerification.objects.filter(wallet=session.wallet).select_related("errand")
    verification = own.filter(id=verification_id).first()
    if verification is None:
        raise Http404
    if verification.state != State.STARTED or _was_picked(verification):
        return see_other("wallet_identity_return", verification_id)
    form = OutcomeForm(request.POST or None)
    facts = {"form": form, "outcomes": OUTCOMES, "verification": verification}
    facts |= {"errand": verification.errand, "signed_in_as": session.wallet.email}
    if form.is_valid():
        outcome = form.cleaned_data["outcome"]
        PickedOutcome.objects.update_or_create(
            verification=verification, defaults={"outcome": outcome, "picked_at": now}
        )
        if not OUTCOMES[outcome].calls_back:
            return see_other("wallet_identity_return", verification_id)
        callbacks.send(verification.provider_reference)
        return render(request, "sandbox/identity_sent.html", facts)
    return render(request, "sandbox/identity.html", facts, status=422 if form.is_bound else 200)


@never_cache
@only_read
def mailbox(request: HttpRequest) -> HttpResponse:
    """The letters to whoever uses this browser."""
    letters = mailboxes.letters_for(request, now=timezone.now())
    return render(request, "sandbox/mailbox.html", {"letters": letters})


def _was_picked(verification: IdentityVerification) -> bool:
    """Whether something was picked since the person last began."""
    picked = PickedOutcome.objects.filter(verification=verification, picked_at__gte=verification.changed_at)
    return picked.exists()
