"""The pages on which developers register their own application in the sandbox, and look after it."""

import secrets
from collections.abc import Callable
from datetime import datetime
from functools import wraps
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.http import Http404, HttpRequest, HttpResponse
from django.middleware.csrf import rotate_token
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from infra import browser
from infra.again import SHORTLY, again_after
from infra.limits import LimitReachedError
from infra.reading import only_read
from presentation.models import RelyingParty
from presentation.relying_parties import integration
from sandbox.self_service import developer_sign_in, self_registrations
from sandbox.self_service.forms import DeveloperEmailForm, SelfRegistrationForm
from wallet.pages import see_other

HOME = "self_service"


def for_developer(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """A page for a signed-in developer: `view(request, owner, …)`; anybody else is asked for an address."""

    @never_cache
    @wraps(view)
    def page(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        owner = developer_sign_in.current(request)
        return view(request, owner, *args, **kwargs) if owner else see_other(HOME)

    return page


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def home(request: HttpRequest) -> HttpResponse:
    """A developer's relying parties; before that, the question for an e-mail address."""
    owner = developer_sign_in.current(request)
    if owner and request.method != "POST":
        parties = self_registrations.registered_by(owner)
        return render(request, "developer/parties.html", {"parties": parties, "developer": owner})
    form = DeveloperEmailForm(request.POST or None)
    if form.is_valid():
        return _send_link(request, form, timezone.now())
    return render(request, "developer/sign_in.html", {"form": form}, status=422 if form.is_bound else 200)


@never_cache
@only_read
def link(request: HttpRequest, token: str) -> HttpResponse:
    """Where the letter leads."""
    try:
        email = developer_sign_in.redeem(token, request=request, now=timezone.now())
    except developer_sign_in.LinkGoneError as gone:
        if developer_sign_in.current(request) in gone.args:  # perhaps the second of two clicks
            return see_other(HOME)
        return render(request, "developer/link_gone.html", status=410)
    response = see_other(HOME)
    developer_sign_in.remember(response, email, browser_digest=browser.digest(request) or "")
    rotate_token(request)
    return response


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """Ends it in this browser."""
    response = see_other(HOME)
    developer_sign_in.forget(response)
    rotate_token(request)
    return response


@require_http_methods(["GET", "HEAD", "POST"])
@for_developer
def new(request: HttpRequest, owner: str) -> HttpResponse:
    """Register one."""
    form = SelfRegistrationForm(request.POST or None)
    made: list[RelyingParty] = []

    def register(now: datetime) -> None:
        client = browser.address(request)
        made.append(self_registrations.register(owner, form.details(), client=client, now=now))

    if form.is_valid() and _did(form, register):
        return see_other("self_service_party", made[0].client_id)
    status = 422 if form.is_bound else 200
    return render(request, "developer/new.html", {"form": form, "developer": owner}, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@for_developer
def party(request: HttpRequest, owner: str, client_id: str) -> HttpResponse:
    """What its developer needs, and the form to change it."""
    own = _own(owner, client_id)
    form = SelfRegistrationForm(request.POST or None, initial=SelfRegistrationForm.initial_for(own))
    if form.is_valid() and _did(
        form, lambda now: self_registrations.change(own, owner, form.details(), now=now)
    ):
        return see_other(reverse("self_service_party", args=[client_id], query={"saved": 1}))
    status = 422 if form.is_bound else 200
    own = _own(owner, client_id) if form.is_bound else own  # without what could not be saved
    facts = {"form": form, "party": own, "developer": owner, "saved": "saved" in request.GET}
    return render(request, "developer/party.html", facts | _to_try(own), status=status)


@require_POST
@for_developer
def secret(request: HttpRequest, owner: str, client_id: str) -> HttpResponse:
    """Makes a client secret and shows it, this once."""
    facts = {"title": _("Client secret"), "fate": _("The one before has ended.")}
    return _show_secret(request, owner, client_id, self_registrations.new_secret, facts)


@require_POST
@for_developer
def webhook_secret(request: HttpRequest, owner: str, client_id: str) -> HttpResponse:
    """Makes the secret that signs webhooks and shows it, this once."""
    facts = {"title": _("Webhook secret"), "fate": _("The one before signs beside it for seven days.")}
    return _show_secret(request, owner, client_id, self_registrations.new_webhook_secret, facts)


def _show_secret(
    request: HttpRequest, owner: str, client_id: str, make: Callable[..., Any], facts: dict[str, Any]
) -> HttpResponse:
    own, now = _active(owner, client_id), timezone.now()
    facts |= {"party": own, "developer": owner}
    try:
        facts["secret"] = make(own, owner, now=now)
    except LimitReachedError as limit:
        page = render(request, "developer/secret.html", facts | {"problem": _wait(limit, now)}, status=429)
        return again_after(limit.retry_after(now), page)
    return render(request, "developer/secret.html", facts)


@require_http_methods(["GET", "HEAD", "POST"])
@for_developer
def delete(request: HttpRequest, owner: str, client_id: str) -> HttpResponse:
    """Asks once more; sent here, it is gone."""
    own = _active(owner, client_id)
    if request.method == "POST":
        self_registrations.give_up(own)
        return see_other(HOME)
    return render(request, "developer/delete.html", {"party": own, "developer": owner})


def _own(owner: str, client_id: str) -> RelyingParty:
    own = self_registrations.registered_by(owner).filter(client_id=client_id).first()
    if own is None:
        raise Http404
    return own


def _active(owner: str, client_id: str) -> RelyingParty:
    """What an operator stopped is neither deleted nor given secrets."""
    own = _own(owner, client_id)
    if own.state != RelyingParty.State.ACTIVE:
        raise Http404
    return own


def _did(form: SelfRegistrationForm, use_case: Callable[[datetime], None]) -> bool:
    """Whether it was done; if not, the form says why."""
    now = timezone.now()
    try:
        use_case(now)
    except ValidationError as error:
        form.refuse(error)
    except IntegrityError:
        form.add_error("name", _("Another registration with this name came first."))
    except LimitReachedError as limit:
        form.add_error(None, _wait(limit, now))
    return form.is_valid()


def _to_try(own: RelyingParty) -> dict[str, Any]:
    """Requests that are ready to be opened, one for each redirect URI."""
    requests = [
        integration.authorize_url(
            own,
            row.uri,
            login_hint="sam@example.org",
            nonce=secrets.token_urlsafe(24),
            state=secrets.token_urlsafe(12),
        )
        for row in own.redirect_uris.all()
    ]
    holder = settings.BASE_URL + reverse("sandbox_holder")
    return {"requests": requests, "addresses": integration.addresses(), "holder": holder}


def _send_link(request: HttpRequest, form: DeveloperEmailForm, now: datetime) -> HttpResponse:
    secret, digest = browser.ensure(request)
    email, client = form.cleaned_data["email"], browser.address(request)
    try:
        shown = developer_sign_in.send_link(email, browser_digest=digest, client=client, now=now)
    except LimitReachedError as limit:
        form.add_error(None, _wait(limit, now))
        page = render(request, "developer/sign_in.html", {"form": form}, status=429)
        return again_after(limit.retry_after(now), page)
    except developer_sign_in.NotSentError:
        form.add_error(None, _("The e-mail could not be sent just now. Please try again."))
        page = render(request, "developer/sign_in.html", {"form": form}, status=503)
        return again_after(SHORTLY, page)
    response = render(request, "developer/link_sent.html", {"email": email, "link": shown})
    browser.remember(response, secret)
    developer_sign_in.has_asked(response, email, browser_digest=digest)
    return response


def _wait(limit: LimitReachedError, now: datetime) -> str:
    minutes = max(1, -(-int((limit.retry_at - now).total_seconds()) // 60))
    text = ngettext(
        "That was too often. Please wait %(count)d minute and try again.",
        "That was too often. Please wait %(count)d minutes and try again.",
        minutes,
    )
    return text % {"count": minutes}
