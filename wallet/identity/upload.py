"""The page on which a person types their details and uploads pictures, for operators to look at."""

import uuid
from contextlib import suppress
from datetime import datetime

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods

from infra.limits import LimitReachedError
from wallet import pictures as picture_files
from wallet.forms import UploadForm
from wallet.identity import attempts, pictures, progress, state_machine
from wallet.identity.state_machine import ForbiddenMoveError
from wallet.models import Errand, IdentityVerification, Wallet
from wallet.pages import for_holder, see_other
from wallet.providers import registry
from wallet.providers.from_afar import FromAfar
from wallet.uploads import InMemory

State = IdentityVerification.State
MOST = 3 * picture_files.LONGEST  # bytes of all files of a form together


@csrf_exempt  # the handler is set before the form is read; what is inside protects
def upload(request: HttpRequest, errand_id: uuid.UUID) -> HttpResponse:
    """Reads files into memory only, and stops at MOST bytes."""
    handler = InMemory(request, most=MOST)
    request.upload_handlers = [handler]
    if request.method == "POST":
        request.POST  # noqa: B018 (reads the form; it ends where the handler stops)
        if handler.too_long:
            return render(
                request, "wallet/identity_upload_too_long.html", {"errand_id": errand_id}, status=413
            )
    return _protected(request, errand_id)


@csrf_protect
@require_http_methods(["GET", "HEAD", "POST"])
@for_holder
def _protected(request: HttpRequest, errand: Errand, wallet: Wallet, now: datetime) -> HttpResponse:
    verification = attempts.latest(wallet)
    provider = registry.by_name(verification.provider) if verification else None
    if verification is None or not isinstance(provider, FromAfar):
        raise Http404
    if verification.state != State.STARTED:
        return see_other("wallet_identity", errand.id)
    form = UploadForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        _submit(verification, form, now=now)
        return see_other("wallet_identity", errand.id)
    facts = {"errand": errand, "signed_in_as": wallet.email, "form": form}
    return render(request, "wallet/identity_upload.html", facts, status=422 if form.is_bound else 200)


def _submit(verification: IdentityVerification, form: UploadForm, *, now: datetime) -> None:
    """Store the pictures, then hand the attempt in; if it has moved on meanwhile, its page says so."""
    with suppress(ForbiddenMoveError, LimitReachedError):
        pictures.store(verification, form.jpegs, now=now)
        progress.remember(verification, form.typed)
        state_machine.submit(verification, now=now)
        progress.refresh(verification, now=now)
