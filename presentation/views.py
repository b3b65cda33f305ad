"""Views for browsers: the authorization endpoint, the interaction, and the delivery of its answer."""

import uuid

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_http_methods

from infra import browser
from presentation import error_pages
from presentation.entrances import refusing
from presentation.entrances.arriving import lead_from_post
from presentation.entrances.context import AuthorizeContext, ResumeContext
from presentation.entrances.refusing import REFUSALS
from presentation.entrances.sending import after_delivery, follow_redirect_uri, refuse
from presentation.entrances.stages import AUTHORIZE, DECIDE, RESUME, go_through
from presentation.errors import AccessDeniedError, UntrustedRequestError
from presentation.requests import interactions
from presentation.requests.delivery import deliveries
from presentation.requests.interactions import InteractionGoneError


@csrf_exempt  # a POST does no more than lead to a GET
def authorize(request: HttpRequest) -> HttpResponse:
    """The authorization endpoint (contract, Endpoints 1; OpenID4VP 1.0 §5; OpenID Connect Core 1.0 §3.1.2).

    A holder who needs no other step gets the consent page as the answer; all others are redirected to their
    next step.
    """
    if request.method not in ("GET", "HEAD"):
        return lead_from_post(request)
    context = AuthorizeContext(request=request, now=timezone.now())
    try:
        return go_through(AUTHORIZE, context)
    except REFUSALS as refusal:
        return refusing.at_authorize(context, refusal)


@require_http_methods(["GET", "POST"])
def resume(request: HttpRequest, interaction_id: uuid.UUID) -> HttpResponse:
    """Continues an interaction with its next step.

    The consent page submits its form here, so that one request stores the decision and sends the answer.
    """
    context = ResumeContext(request=request, now=timezone.now(), interaction_id=interaction_id)
    try:
        return go_through(DECIDE if request.method == "POST" else RESUME, context)
    except REFUSALS as refusal:
        return refusing.at_interaction(context, refusal)


@csrf_exempt  # other methods are refused as such
@require_GET
def leave(request: HttpRequest, interaction_id: uuid.UUID) -> HttpResponse:
    """Refuses the request with `access_denied`: the link to leave on the pages of sign-in and enrolment."""
    now = timezone.now()
    try:
        opened = interactions.open_interaction(
            interactions.find(interaction_id), browser=browser.digest(request), now=now
        )
        return refuse(opened, AccessDeniedError(), now=now)
    except InteractionGoneError as gone:
        response = refusing.refuse_expired(gone) or refusing.straight_back(gone)
        return response or refusing.gone(request, gone)
    except UntrustedRequestError as error:
        return error_pages.untrusted(request, error)


@require_http_methods(["GET", "POST"])
def delivery(request: HttpRequest, interaction_id: uuid.UUID) -> HttpResponse:
    """Shows the state of an answer that is posted; a form submitted here retries it or gives up."""
    now = timezone.now()
    try:
        interaction = interactions.answered(interaction_id, browser=browser.digest(request))
    except InteractionGoneError as gone:
        return refusing.refuse_expired(gone) or refusing.gone(request, gone)
    if request.method == "POST":
        act = deliveries.give_up if request.POST.get("choice") == "give_up" else deliveries.deliver
        act(interaction, now=now)
        return after_delivery(interaction)
    kept = deliveries.of(interaction)
    if kept is None:
        return refusing.gone(request, InteractionGoneError(interaction, own=True))
    if redirect_uri := deliveries.redirect_uri_of(kept, now=now):
        return follow_redirect_uri(redirect_uri)
    return error_pages.delivery(request, interaction, kept, now=now)
