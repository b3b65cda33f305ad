"""The pages on which a signed-in holder adds, names and removes passkeys."""

import uuid
from datetime import datetime
from functools import wraps

from django import forms
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_POST

from infra.reasons import VisibleField
from wallet.account import fresh
from wallet.models import HolderSession, Passkey, Wallet
from wallet.passkeys import problem_page, registration
from wallet.passkeys.errors import PasskeyError
from wallet.passkeys.problem_page import POSTED
from wallet.sign_in.decorators import Page, for_signed_in, see_other, show_to

SECURITY = "wallet_security"


def _for_own_passkey(view: Page) -> Page:
    """A page about a passkey of the signed-in holder, or 404: `view(request, session, now, passkey)`."""

    @for_signed_in
    @wraps(view)
    def page(
        request: HttpRequest, session: HolderSession, now: datetime, passkey_id: uuid.UUID
    ) -> HttpResponseBase:
        passkey = session.wallet.passkeys.filter(id=passkey_id).first()
        if passkey is None:
            raise Http404
        return view(request, session, now, passkey)

    return page


@require_http_methods(["GET", "HEAD", "POST"])
@for_signed_in
@fresh.factor_first("wallet_passkey_add")
def add(request: HttpRequest, session: HolderSession, now: datetime) -> HttpResponse:
    """Explains passkeys; on POST, adds the one that the browser has made. Needs a fresh factor."""
    if request.method == "POST":
        return _add(request, session, now)
    return show_to(request, session, "passkeys/add")


@require_POST
@for_signed_in
def close_offer(request: HttpRequest, session: HolderSession, now: datetime) -> HttpResponse:
    """Closes the offer to add a passkey, which is then not made again."""
    Wallet.objects.filter(id=session.wallet_id, passkey_offered_at=None).update(passkey_offered_at=now)
    return see_other("wallet_home")


@require_http_methods(["GET", "HEAD", "POST"])
@_for_own_passkey
def rename(request: HttpRequest, session: HolderSession, now: datetime, passkey: Passkey) -> HttpResponse:
    """The form for the name of a passkey."""
    form = PasskeyNameForm(request.POST or None, initial={"name": passkey.name})
    if form.is_valid():
        Passkey.objects.filter(id=passkey.id).update(name=form.cleaned_data["name"])
        return see_other(SECURITY)
    status = 422 if form.is_bound else 200
    return show_to(request, session, "passkeys/rename", form=form, passkey=passkey, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@_for_own_passkey
@fresh.factor_first(SECURITY)
def remove(request: HttpRequest, session: HolderSession, now: datetime, passkey: Passkey) -> HttpResponse:
    """Asks for confirmation; on POST, removes the passkey. Needs a fresh factor."""
    if request.method == "POST":
        registration.remove(passkey)
        return see_other(reverse(SECURITY, query={"passkey": "removed"}))
    return show_to(request, session, "passkeys/remove", passkey=passkey)


def _add(request: HttpRequest, session: HolderSession, now: datetime) -> HttpResponse:
    try:
        registration.add(
            request.POST.get(POSTED, ""),
            session,
            user_agent=request.headers.get("User-Agent", "")[:500],
            now=now,
        )
    except PasskeyError as error:
        back = reverse("wallet_passkey_add")
        return problem_page.problem(request, error, back=back, signed_in_as=session.wallet.email)
    return see_other(reverse(SECURITY, query={"passkey": "added"}))


class PasskeyNameForm(forms.Form):
    """The name of a passkey, for its holder."""

    name = VisibleField(
        label=_("Name of this passkey"),
        help_text=_("For example the device that it is on. Only you see it."),
        max_length=registration.LONGEST_NAME,
        widget=forms.TextInput(attrs={"autocomplete": "off", "autofocus": True}),
        error_messages={
            "required": _("Enter a name."),
            "max_length": _("Enter a name of at most 60 characters."),
        },
    )
