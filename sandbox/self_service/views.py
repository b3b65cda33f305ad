"""The pages on which developers register and manage their own applications in the sandbox."""

from collections.abc import Callable
from datetime import datetime
from functools import partial, wraps
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from infra import browser
from infra.again import again_after
from infra.limits import LimitReachedError
from infra.reading import only_read
from presentation.models import RelyingParty
from presentation.relying_parties import integration
from presentation.relying_parties.authentication import client_secrets
from presentation.webhooks import signing_secrets
from sandbox.self_service import developer_sign_in, self_registrations
from sandbox.self_service.forms import DeveloperEmailForm, SelfRegistrationForm
from wallet.sign_in.decorators import see_other

HOME = "self_service"


def for_developer(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """A page for a signed-in developer: `view(request, owner, …)`; others are redirected to the sign-in."""

    @never_cache
    @wraps(view)
    def page(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        owner = developer_sign_in.current(request)
        return view(request, owner, *args, **kwargs) if owner else see_other(HOME)

    return page


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def home(request: HttpRequest) -> HttpResponse:
    """The developer's relying parties; the sign-in form if no developer is signed in."""
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
    """The target of the link in the e-mail: signs in."""
    try:
        email = developer_sign_in.redeem(token, request=request, now=timezone.now())
    except developer_sign_in.LinkGoneError as gone:
        if developer_sign_in.current(request) in gone.args:  # a second click on the same link
            return see_other(HOME)
        return render(request, "developer/link_gone.html", status=410)
    response = see_other(HOME if self_registrations.registered_by(email).exists() else "self_service_new")
    developer_sign_in.remember(response, email, browser_digest=browser.digest(request) or "")
    return response


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """Sign this browser out."""
    response = see_other(HOME)
    developer_sign_in.forget(response)
    return response


@require_http_methods(["GET", "HEAD", "POST"])
@for_developer
def new(request: HttpRequest, owner: str) -> HttpResponse:
    """The form for a new relying party."""
    form = SelfRegistrationForm(request.POST or None)
    register = partial(self_registrations.register, owner, client=browser.address(request))
    if made := _saved(form, register):
        return see_other("self_service_party", made.client_id)
    status = 422 if form.is_bound else 200
    return render(request, "developer/new.html", {"form": form, "developer": owner}, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@for_developer
def party(request: HttpRequest, owner: str, client_id: str) -> HttpResponse:
    """One relying party: its integration details, and the form to change it."""
    own = own_or_404(owner, client_id)
    form = SelfRegistrationForm(request.POST or None, initial=SelfRegistrationForm.initial_for(own))
    if _saved(form, partial(self_registrations.change, own, owner)):
        return see_other(reverse("self_service_party", args=[client_id], query={"saved": 1}))
    status = 422 if form.is_bound else 200
    own = own_or_404(owner, client_id) if form.is_bound else own  # without the changes that were refused
    facts = {"form": form, "party": own, "developer": owner, "saved": "saved" in request.GET}
    return render(request, "developer/party.html", facts | _to_try(own), status=status)


@require_POST
@for_developer
def secret(request: HttpRequest, owner: str, client_id: str) -> HttpResponse:
    """Make a client secret and show it once."""
    facts = {"title": _("Client secret"), "fate": _("The one before has ended.")}
    return _show_secret(request, owner, client_id, self_registrations.new_secret, facts)


@require_POST
@for_developer
def webhook_secret(request: HttpRequest, owner: str, client_id: str) -> HttpResponse:
    """Make the secret that signs webhooks and show it once."""
    facts = {"title": _("Webhook secret"), "fate": _("The one before signs beside it for seven days.")}
    return _show_secret(request, owner, client_id, self_registrations.new_webhook_secret, facts)


def _show_secret(
    request: HttpRequest, owner: str, client_id: str, make: Callable[..., Any], facts: dict[str, Any]
) -> HttpResponse:
    own, now = active_or_404(owner, client_id), timezone.now()
    facts |= {"party": own, "developer": owner}
    try:
        facts["secret"], facts["before"] = make(own, owner, now=now)
    except LimitReachedError as limit:
        page = render(request, "developer/secret.html", facts | {"problem": how_long(limit, now)}, status=429)
        return again_after(limit.retry_after(now), page)
    return render(request, "developer/secret.html", facts)


@require_http_methods(["GET", "HEAD", "POST"])
@for_developer
def delete(request: HttpRequest, owner: str, client_id: str) -> HttpResponse:
    """Ask for confirmation; on POST, delete the relying party."""
    own = active_or_404(owner, client_id)
    if request.method == "POST":
        self_registrations.give_up(own)
        return see_other(HOME)
    return render(request, "developer/delete.html", {"party": own, "developer": owner})


def own_or_404(owner: str, client_id: str) -> RelyingParty:
    """The owner's relying party; 404 if it is another's."""
    own = self_registrations.registered_by(owner).filter(client_id=client_id).first()
    if own is None:
        raise Http404
    return own


def active_or_404(owner: str, client_id: str) -> RelyingParty:
    """The owner's relying party; 404 if an operator has suspended it."""
    own = own_or_404(owner, client_id)
    if own.state != RelyingParty.State.ACTIVE:
        raise Http404
    return own


def _saved(form: SelfRegistrationForm, use_case: Callable[..., RelyingParty]) -> RelyingParty | None:
    """The result of the use case with the form's details; None if the form has errors, old or new."""
    if not form.is_valid():
        return None
    now = timezone.now()
    try:
        return use_case(details=form.details(), now=now)
    except ValidationError as error:
        form.refuse(error)
    except IntegrityError:
        form.add_error("name", _("Another registration with this name came first."))
    except LimitReachedError as limit:
        form.add_error(None, how_long(limit, now))
    return None


def _to_try(own: RelyingParty) -> dict[str, Any]:
    """An example request for each redirect URI, the addresses (first those that the guide needs), and whether
    there are secrets.
    """
    first = {"issuer": settings.BASE_URL, "root certificate": f"{settings.BASE_URL}/trust/root.pem"}
    now = timezone.now()
    return {
        "addresses": first | integration.addresses(),
        "has_secret": bool(client_secrets.live(own, now=now)),
        "has_webhook_secret": signing_secrets.in_use(own, now=now).exists(),
        "requests": integration.requests_to_try(own, login_hint="sam@example.org"),
        "holder": settings.BASE_URL + reverse("sandbox_holder"),
    }


def _send_link(request: HttpRequest, form: DeveloperEmailForm, now: datetime) -> HttpResponse:
    secret, digest = browser.ensure(request)
    email, client = form.cleaned_data["email"], browser.address(request)
    try:
        shown = developer_sign_in.send_link(email, browser_digest=digest, client=client, now=now)
    except LimitReachedError as limit:
        form.add_error(None, how_long(limit, now))
        page = render(request, "developer/sign_in.html", {"form": form}, status=429)
        return again_after(limit.retry_after(now), page)
    response = render(request, "developer/link_sent.html", {"email": email, "link": shown})
    browser.remember(response, secret)
    developer_sign_in.has_asked(response, email, browser_digest=digest)
    return response


def how_long(limit: LimitReachedError, now: datetime) -> str:
    """When to try again, in words."""
    minutes = max(1, -(-int((limit.retry_at - now).total_seconds()) // 60))
    text = ngettext(
        "That was too often. Please wait %(count)d minute and try again.",
        "That was too often. Please wait %(count)d minutes and try again.",
        minutes,
    )
    return text % {"count": minutes}
