"""The page of a check with another wallet: the link for this device, or the QR code for another one."""

from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from wallet.credential.claims import MAX_NAME, details_in_words
from wallet.credential.names import name
from wallet.identity import attempts, progress
from wallet.identity.day_field import BirthDateField, BirthDateInput
from wallet.identity.forms import NO_DAY, text_field
from wallet.identity.progress import Start
from wallet.identity.state_machine import ForbiddenMoveError
from wallet.identity.views import page as pages
from wallet.models import IdentityVerification, RedirectTask, Wallet
from wallet.providers.contract import ProviderError
from wallet.providers.in_person import qr_code
from wallet.providers.other_wallet.provider import OtherWallet
from wallet.providers.other_wallet.transactions import CODE, Transaction
from wallet.sign_in.decorators import for_holder, see_other


class AboutYouForm(forms.Form):
    """What the person types. An operator reviews the check if the PID differs from it."""

    given_name = text_field(_("Given names"), MAX_NAME, spellcheck="false", autocomplete="given-name")
    family_name = text_field(_("Family name"), MAX_NAME, spellcheck="false", autocomplete="family-name")
    birth_date = BirthDateField(
        label=_("Birth date"),
        help_text=NO_DAY,
        widget=BirthDateInput("bday"),
        error_messages={"required": _("Enter your birth date.")},
    )

    def clean(self) -> dict[str, Any]:
        """Adds `typed`, as a transaction keeps it."""
        cleaned = super().clean() or {}
        born = cleaned.get("birth_date")
        names = {part: name(cleaned.get(part)) for part in ("given_name", "family_name")}
        if not any(names.values()):
            self.add_error("given_name", _("Enter your name as in your wallet."))
        if born and not self.errors:
            cleaned["typed"] = {**names, "birth_date": born.isoformat()}
        return cleaned


State = IdentityVerification.State


@require_http_methods(["GET", "HEAD", "POST"])
@for_holder
def page(request: HttpRequest, redirect_task: RedirectTask, wallet: Wallet, now: datetime) -> HttpResponse:
    """What the person can do now; a click begins a request for this device or for another one."""
    verification, provider = pages.latest_with(wallet, OtherWallet)
    if verification.state == State.STARTED:
        attempts.for_redirect_task(verification, redirect_task)
        progress.refresh(verification, now=now)
    if verification.state != State.STARTED:
        return see_other("wallet_identity", redirect_task.id)
    form = AboutYouForm(request.POST if request.POST.get("device") == "other" else None)
    facts: dict[str, Any] = {"provider": provider, "form": form}
    if request.method == "POST" and (start := _chosen(provider, form, request.POST.get("device", ""))):
        try:
            with suppress(ForbiddenMoveError):  # something came in: the page shows it
                progress.go_on(verification, now=now, start=start)
        except ProviderError as error:
            return pages.failed(request, redirect_task, wallet, error, **facts, providers={})
        return see_other("wallet_identity_other_wallet", redirect_task.id)
    facts |= _shown(verification, provider, form, now)
    return pages.show(request, "other_wallet", redirect_task, wallet, **facts)


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
    """The template's part to show, and its context, which never has anything that a wallet presented."""
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
        return {"part": "code", "link": link, "picture": qr_code(link)}
    return {"part": "link", "link": link, "more": details_in_words(provider.details)}
