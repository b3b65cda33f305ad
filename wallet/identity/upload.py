"""The page on which a person types their details and uploads pictures, for operators to look at."""

from contextlib import suppress
from datetime import datetime
from typing import Any

from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods

from infra.again import again_after
from infra.limits import Limit, LimitReachedError
from wallet import errands
from wallet import pictures as picture_files
from wallet.identity import attempts, pictures, progress, state_machine
from wallet.identity.forms import UploadForm
from wallet.identity.state_machine import ForbiddenMoveError
from wallet.models import Errand, IdentityVerification, Wallet
from wallet.pages import for_holder, see_other
from wallet.providers import registry
from wallet.providers.from_afar import FromAfar
from wallet.uploads import InMemory

State = IdentityVerification.State
MOST = 3 * picture_files.LONGEST  # bytes of all files of a form together
UPLOADS = Limit.from_settings("identity-uploads")  # per wallet; pictures cost time


@csrf_exempt  # the handler is set before the form is read; what is inside protects
@require_http_methods(["GET", "HEAD", "POST"])
@for_holder
def upload(request: HttpRequest, errand: Errand, wallet: Wallet, now: datetime) -> HttpResponse:
    """Reads files into memory only, stops at MOST bytes, and reads nothing of what strangers send."""
    verification = attempts.latest(wallet)
    provider = registry.by_name(verification.provider) if verification else None
    if verification is None or not isinstance(provider, FromAfar):
        raise Http404
    if verification.state != State.STARTED:
        return see_other("wallet_identity", errand.id)
    facts = {"errand": errand, "signed_in_as": wallet.email}
    facts["providers"] = registry.reaching(errands.demanded(errand))
    request.upload_handlers = [handler := InMemory(request, most=MOST)]
    if request.method == "POST":
        try:
            UPLOADS.take(str(wallet.id), now=now)
        except LimitReachedError as limit:
            facts["until"] = limit.retry_at
            page = render(request, "wallet/identity_paused.html", facts, status=429)
            return again_after(limit.retry_after(now), page)
        request.POST  # noqa: B018 (reads the form; it ends where the handler stops)
        if handler.too_long:
            facts["errand_id"] = errand.id
            return render(request, "wallet/identity_upload_too_long.html", facts, status=413)
    return _protected(request, verification, facts, now)


@csrf_protect
def _protected(
    request: HttpRequest, verification: IdentityVerification, facts: dict[str, Any], now: datetime
) -> HttpResponse:
    form = UploadForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        _submit(verification, form, now=now)
        return see_other("wallet_identity", facts["errand"].id)
    status = 422 if form.is_bound else 200
    return render(request, "wallet/identity_upload.html", facts | {"form": form}, status=status)


def _submit(verification: IdentityVerification, form: UploadForm, *, now: datetime) -> None:
    """Store the pictures and hand the attempt in, at once; if it has moved on meanwhile, its page says so.

    Otherwise a form that was sent slowly would replace the pictures while an operator looks at them.
    """
    with suppress(ForbiddenMoveError, LimitReachedError):
        with transaction.atomic():
            state_machine.lock(verification)
            if verification.state != State.STARTED:
                raise ForbiddenMoveError(verification.state, State.SUBMITTED)
            pictures.store(verification, form.jpegs, now=now)
            progress.remember(verification, form.typed)
            state_machine.submit(verification, now=now)
        progress.refresh(verification, now=now)
