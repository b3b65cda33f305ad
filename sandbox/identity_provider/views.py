"""The pages of the simulated identity check and of the mailbox."""

import json
import uuid
from urllib.parse import urlsplit

from django import forms
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.test import RequestFactory
from django.urls import resolve, reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from infra.reading import only_read
from sandbox import mailbox as mailboxes
from sandbox.identity_provider.personas import OUTCOMES
from sandbox.identity_provider.provider import NAME, SIGNATURE, signature
from sandbox.models import PickedOutcome
from wallet.models import IdentityVerification
from wallet.sign_in import sessions
from wallet.sign_in.decorators import see_other

State = IdentityVerification.State


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def identity(request: HttpRequest, verification_id: uuid.UUID) -> HttpResponse:
    """The page of the simulated provider: submits the chosen outcome and returns to the wallet."""
    now = timezone.now()
    session = sessions.current(request, now=now)
    if session is None:
        return see_other("wallet_identity_return", verification_id)
    own = IdentityVerification.objects.filter(wallet=session.wallet).select_related("redirect_task")
    verification = own.filter(id=verification_id).first()
    if verification is None:
        raise Http404
    lately = PickedOutcome.objects.filter(verification=verification, picked_at__gte=verification.changed_at)
    if verification.state != State.STARTED or lately.exists():  # since the person last began
        return see_other("wallet_identity_return", verification_id)
    form = OutcomeForm(request.POST if request.method == "POST" else None)
    facts = {"form": form, "outcomes": OUTCOMES, "verification": verification}
    facts |= {"redirect_task": verification.redirect_task, "signed_in_as": session.wallet.email}
    if form.is_valid():
        outcome = form.cleaned_data["outcome"]
        PickedOutcome.objects.update_or_create(
            verification=verification, defaults={"outcome": outcome, "picked_at": now}
        )
        if not OUTCOMES[outcome].calls_back:
            return see_other("wallet_identity_return", verification_id)
        send_callback(verification.provider_reference)
        return render(request, "sandbox/identity_sent.html", facts)
    return render(request, "sandbox/identity.html", facts, status=422 if form.is_bound else 200)


@never_cache
@only_read
def mailbox(request: HttpRequest) -> HttpResponse:
    """The e-mails for this browser."""
    sent = mailboxes.emails_for(request, now=timezone.now())
    return render(request, "sandbox/mailbox.html", {"messages": sent})


class OutcomeForm(forms.Form):
    """The outcome of the identity check."""

    outcome = forms.ChoiceField(
        label=_("What should happen?"),
        choices=[(key, outcome.label) for key, outcome in OUTCOMES.items()],
        error_messages={"required": _("Pick what should happen.")},
    )


def send_callback(reference: str) -> HttpResponse:
    """Tells the service that the check has a result; returns the service's response."""
    body = json.dumps({"reference": reference}).encode()
    path = reverse("wallet_identity_callback", args=[NAME])
    base = urlsplit(settings.BASE_URL)
    headers = {"host": base.netloc, SIGNATURE: signature(body)}
    requests, secure = RequestFactory(headers=headers), base.scheme == "https"
    request = requests.post(path, body, content_type="application/json", secure=secure)
    match = resolve(path)
    answered: HttpResponse = match.func(request, *match.args, **match.kwargs)
    return answered
