"""The admin's page for client secrets: make one, which is shown once, or end one."""

import re
from datetime import timedelta
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from infra.moments import moment
from infra.operations import SOMEBODY_WAS_FASTER
from presentation.models import ClientSecret, RelyingParty
from presentation.relying_parties.authentication import client_secrets
from presentation.relying_parties.forms import NewSecretForm

_TEMPLATES = "admin/presentation/relyingparty"


def table(relying_party: RelyingParty) -> SafeString:
    """A table of the secrets that work."""
    return render_to_string(
        f"{_TEMPLATES}/client_secrets_table.html",
        {"secrets": client_secrets.live(relying_party, now=timezone.now())},
    )


def page(admin: Any, request: HttpRequest, relying_party: RelyingParty) -> HttpResponse:
    """The page of an operation; `admin` has checked that the operator may change the relying party."""
    if request.method == "POST" and "end" in request.POST:
        return _ended(admin, request, relying_party)
    now = timezone.now()
    sent = request.POST if request.method == "POST" else None
    form = NewSecretForm(sent, first=not client_secrets.live(relying_party, now=now))
    new = None
    if request.method == "POST" and form.is_valid():
        new = _made(admin, request, relying_party, ends_before=form.cleaned_data.get("before") == "end")
        form = NewSecretForm()
    response: HttpResponse = admin.render(
        request,
        f"{_TEMPLATES}/client_secrets.html",
        relying_party,
        title=_("Client secrets of %(name)s") % {"name": relying_party.name},
        secrets=client_secrets.live(relying_party, now=now),
        form=form,
        new=new,
    )
    return response


def _made(
    admin: Any, request: HttpRequest, relying_party: RelyingParty, *, ends_before: bool
) -> client_secrets.NewSecret | None:
    overlap = timedelta(0) if ends_before else client_secrets.OVERLAP
    try:
        new = client_secrets.rotate(relying_party, now=timezone.now(), overlap=overlap)
    except client_secrets.TwoSecretsError:
        message = _("Two secrets work already, and nothing was changed. End one of them first.")
        admin.message_user(request, message, messages.ERROR)
        return None
    message = _("Client secret made, those before ended") if ends_before else _("Client secret made")
    admin.log_change(request, relying_party, message)
    return new


def _ended(admin: Any, request: HttpRequest, relying_party: RelyingParty) -> HttpResponse:
    number = request.POST["end"]
    secret = get_object_or_404(
        ClientSecret,
        relying_party=relying_party,
        pk=int(number) if re.fullmatch("[0-9]{1,18}", number) else None,
    )
    if client_secrets.end(secret, now=timezone.now()):
        message = _("Client secret of %(made)s ended") % {"made": moment(secret.created_at)}
        admin.log_change(request, relying_party, message)
        admin.message_user(request, message, messages.SUCCESS)
    else:
        admin.message_user(request, str(SOMEBODY_WAS_FASTER), messages.ERROR)
    return HttpResponseRedirect(request.path)
