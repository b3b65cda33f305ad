"""The pages of the simulated identity check and of the mailbox."""

import uuid
from contextlib import suppress
from datetime import datetime

from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from infra.limits import LimitReachedError
from infra.reading import only_read
from sandbox import mailbox as mailboxes
from sandbox.identity_provider.forms import OutcomeForm
from sandbox.identity_provider.personas import OUTCOMES
from sandbox.models import PickedOutcome
from wallet import sessions
from wallet.identity import state_machine
from wallet.identity.state_machine import ForbiddenMoveError
from wallet.models import IdentityVerification
from wallet.pages import see_other

State = IdentityVerification.State


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def identity(request: HttpRequest, verification_id: uuid.UUID) -> HttpResponse:
    """The page of the simulated provider: submits the chosen outcome and returns to the wallet."""
    now = timezone.now()
    session = sessions.current(request, now=now)
    if session is None:
        return see_other("wallet_identity_return", verification_id)
    own = IdentityVerification.objects.filter(wallet=session.wallet).select_related("errand")
    verification = own.filter(id=verification_id).first()
    if verification is None:
        raise Http404
    if verification.state != State.STARTED:
        return see_other("wallet_identity_return", verification_id)
    form = OutcomeForm(request.POST or None)
    if form.is_valid():
        _submit(verification, form.cleaned_data["outcome"], now)
        return see_other("wallet_identity_return", verification_id)
    facts = {"form": form, "outcomes": OUTCOMES, "verification": verification}
    facts |= {"errand": verification.errand, "signed_in_as": session.wallet.email}
    return render(request, "sandbox/identity.html", facts, status=422 if form.is_bound else 200)


@never_cache
@only_read
def mailbox(request: HttpRequest) -> HttpResponse:
    """The e-mails for this browser."""
    letters = mailboxes.letters_for(request, now=timezone.now())
    return render(request, "sandbox/mailbox.html", {"letters": letters})


def _submit(verification: IdentityVerification, outcome: str, now: datetime) -> None:
    # If it cannot be submitted, the wallet's page shows the state of the attempt.
    with suppress(ForbiddenMoveError, LimitReachedError), transaction.atomic():
        state_machine.submit(verification, now=now)
        PickedOutcome.objects.update_or_create(
            verification=verification, defaults={"outcome": outcome, "picked_at": now}
        )
