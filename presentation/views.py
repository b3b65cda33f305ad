"""What a browser meets on its way through a request: the authorization endpoint, the hub, and the way out."""

import uuid

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_GET, require_http_methods, require_safe

from consent.views import take_decision
from presentation import answers, interactions, responses
from presentation.errors import AccessDeniedError, AuthorizationError, UntrustedRequestError
from presentation.interactions import InteractionGoneError
from presentation.models import Interaction, RelyingParty
from presentation.parameters import Parameters
from presentation.passage import Passage, Step, next_step, path_of
from presentation.reception import receive
from presentation.registration import identify
from wallet import browser, sessions
from wallet.models import HolderSession


@require_safe
def authorize(request: HttpRequest) -> HttpResponse:
    """The authorization endpoint (contract §Endpoints 1; OpenID4VP 1.0 §5; errors as in design §5)."""
    now = timezone.now()
    try:
        parameters = Parameters.from_query(request.META.get("QUERY_STRING", ""))
        arrival = receive(parameters, address=browser.address(request), now=now)
        registration = identify(arrival.parameters)
    except UntrustedRequestError as error:
        return _untrusted(request, error)
    secret, digest = browser.ensure(request)
    session = sessions.current(request, now=now)
    try:
        passage = interactions.begin(
            arrival,
            registration,
            browser=digest,
            client=browser.address(request),
            session=session,
            now=now,
        )
    except AuthorizationError as error:
        refusal = answers.refusal(registration.relying_party, error)
        return responses.redirect_home(registration.return_address, refusal)
    step = next_step(passage, session, now=now)
    response = HttpResponseRedirect(_address(passage, step), status=303)
    response.headers["Cache-Control"] = "no-store"
    browser.remember(response, secret)
    return response


@require_http_methods(["GET", "POST"])
def resume(request: HttpRequest, interaction_id: uuid.UUID) -> HttpResponse:
    """The hub: go on with an interaction, wherever its facts say it stands.

    The consent page sends its form here, so that one request writes the decision down and answers on it.
    """
    now = timezone.now()
    session = sessions.current(request, now=now)
    try:
        passage = interactions.recall(interaction_id, browser=browser.digest(request), now=now)
        return _decided(request, passage.interaction, session) or _go_on(request, passage, session)
    except InteractionGoneError as gone:
        closed = _decided(request, gone.interaction, session) if gone.own else None
        return closed or _gone(request, gone)
    except UntrustedRequestError as error:
        return _untrusted(request, error)


@require_GET
def leave(request: HttpRequest, interaction_id: uuid.UUID) -> HttpResponse:
    """Give up and go home with `access_denied`: the link on every page of a detour."""
    now = timezone.now()
    try:
        passage = interactions.recall(interaction_id, browser=browser.digest(request), now=now)
        return _refuse(passage, AccessDeniedError())
    except InteractionGoneError as gone:
        return _gone(request, gone)
    except UntrustedRequestError as error:
        return _untrusted(request, error)


@require_safe
@cache_control(public=True, max_age=3600)
def logo(request: HttpRequest, client_id: str) -> HttpResponse:
    """A relying party's logo, served from here so that nobody else learns who looks at a consent page."""
    party = get_object_or_404(RelyingParty.objects.exclude(logo=b""), client_id=client_id)
    return HttpResponse(bytes(party.logo), content_type=party.logo_content_type)


def _decided(
    request: HttpRequest, interaction: Interaction | None, session: HolderSession | None
) -> HttpResponse | None:
    """Take the decision that a form brings; what to send instead of going on, if it says so."""
    if request.method != "POST" or session is None or interaction is None or interaction.consent is None:
        return None
    return take_decision(request, interaction.consent, session, now=timezone.now())


def _go_on(request: HttpRequest, passage: Passage, session: HolderSession | None) -> HttpResponse:
    now = timezone.now()
    try:
        step = next_step(passage, session, now=now)
        if step is Step.REFUSE:
            raise AccessDeniedError
        if step is Step.ANSWER and session is not None:
            answer = answers.answer(passage, session, now=now)
            return responses.redirect_home(passage.return_address, answer)
        if step is Step.UNAVAILABLE:
            return _unavailable(request, passage)
        interactions.prepare(passage, step, session, now=now)
    except AuthorizationError as error:
        return _refuse(passage, error)
    response = HttpResponseRedirect(_address(passage, step), status=303)
    response.headers["Cache-Control"] = "no-store"
    return response


def _address(passage: Passage, step: Step) -> str:
    """Where a step happens. Made by `interactions.prepare`, so the question or errand is there."""
    match step:
        case Step.SIGN_IN:
            return reverse("wallet_sign_in", args=[passage.interaction.errand_id])
        case Step.ENROLL:
            return reverse("wallet_identity", args=[passage.interaction.errand_id])
        case Step.CONSENT:
            return reverse("consent_review", args=[passage.interaction.consent_id])
        case _:
            return path_of(passage.interaction)


def _refuse(passage: Passage, error: AuthorizationError) -> HttpResponse:
    answer = answers.refuse(passage, error, now=timezone.now())
    return responses.redirect_home(passage.return_address, answer)


def _unavailable(request: HttpRequest, passage: Passage) -> HttpResponse:
    """What was asked for is not there. Only the holder is told; home goes the refusal of a click, as ever."""
    context = {
        "relying_party": passage.relying_party.name,
        "leave": reverse("leave", args=[passage.interaction.id]),
    }
    response = render(request, "presentation/unavailable.html", context)
    response.headers["Cache-Control"] = "no-store"
    return response


def _untrusted(request: HttpRequest, error: UntrustedRequestError) -> HttpResponse:
    """A page, never a redirect: nobody has vouched for where it would go (RFC 6749 §4.2.2.1)."""
    return render(request, "presentation/untrusted.html", {"error": error}, status=400)


def _gone(request: HttpRequest, gone: InteractionGoneError) -> HttpResponse:
    """A page that leads back to the relying application, which can start again."""
    context: dict[str, object] = {"title": _("This request is no longer open")}
    if gone.interaction is not None:
        context |= {
            "relying_party": gone.interaction.relying_party.name,
            "way_back": responses.way_back(gone.interaction, own=gone.own),
            "answered": gone.own and bool(gone.interaction.outcome),
        }
    response = render(request, "presentation/gone.html", context, status=410)
    response.headers["Cache-Control"] = "no-store"
    return response
