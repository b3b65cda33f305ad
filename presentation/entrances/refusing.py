"""What a refusal of a stage becomes: an error for the relying party, or a page."""

from contextlib import suppress

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from infra import browser, log_context
from infra.limits import LimitReachedError
from infra.outbound.calls import OutboundError
from infra.served import noting
from infra.waiting import NoThreadFreeError
from presentation import error_pages
from presentation.entrances.context import AuthorizeContext, Context, ResumeContext
from presentation.entrances.deciding import sign_out_late
from presentation.entrances.sending import after_delivery, carry, follow_redirect_uri, refuse
from presentation.errors import (
    AccessDeniedError,
    AuthorizationError,
    RefusedRequest,
    TemporarilyUnavailableError,
    UntrustedRequestError,
)
from presentation.models import RelyingParty
from presentation.requests import counters, interactions
from presentation.requests.client import Client
from presentation.requests.delivery import posting
from presentation.requests.interactions import InteractionGoneError
from presentation.requests.wire_formats.registered import wire_format_of

REFUSALS = (AuthorizationError, UntrustedRequestError, InteractionGoneError, LimitReachedError)


def at_authorize(context: AuthorizeContext, refusal: Exception) -> HttpResponse:
    """The response to an authorization request that a stage refused with one of REFUSALS.

    An error is sent at once only before the session is looked up. Sent later, it would tell whoever redirects
    the browser here and back whether somebody is signed in in it, or has been here before; so the person gets
    a page, whose link carries the error.
    """
    match refusal:
        case AuthorizationError() if context.continues:
            return at_interaction(context, refusal)
        case AuthorizationError() if context.is_personal:
            _note(context.request, context.client.relying_party, refusal)
            counters.count_error(context.client_id, refusal.error)
            return error_pages.our_fault(context.request, context.client, refusal)
        case AuthorizationError():
            return _refuse_at_once(context.request, context.client, refusal)
        case LimitReachedError():
            error = TemporarilyUnavailableError()
            _note(context.request, context.client.relying_party, error)
            counters.count_error(context.client_id, counters.TOO_MANY)
            log_context.bind(limited=True)
            wait = refusal.retry_after(context.now)
            return error_pages.too_many(context.request, context.client, error, wait)
        case UntrustedRequestError():
            counters.count_request(context.client_id, counters.UNTRUSTED)
            log_context.bind(first_step="untrusted")
            return error_pages.untrusted(context.request, refusal)
        case InteractionGoneError():
            return gone(context.request, refusal)
        case _:
            raise refusal


def at_interaction(context: Context, refusal: Exception) -> HttpResponse:
    """The response to a request with an interaction, which a stage refused with one of REFUSALS.

    An error of the request closes the interaction and goes to the relying party.
    """
    if isinstance(refusal, AuthorizationError):
        try:
            return refuse(context.opened, refusal, now=context.now)
        except (UntrustedRequestError, InteractionGoneError) as later:  # the address or the interaction ended
            refusal = later
    if isinstance(refusal, UntrustedRequestError):
        return error_pages.untrusted(context.request, refusal)
    if isinstance(refusal, InteractionGoneError):
        late = sign_out_late(context, refusal) if isinstance(context, ResumeContext) else None
        return late or refuse_expired(refusal) or gone(context.request, refusal)
    raise refusal


def gone(request: HttpRequest, refusal: InteractionGoneError) -> HttpResponse:
    """The page about the delivery of a posted answer, or the page with a link back to the relying party."""
    if refusal.own and refusal.interaction is not None and refusal.interaction.answer_is_posted:
        return after_delivery(refusal.interaction)
    return error_pages.gone(request, refusal)


def refuse_expired(refusal: InteractionGoneError) -> HttpResponse | None:
    """Refuses an expired interaction whose answer is posted, when its browser returns; None for others.

    For an answer by redirect, the page of `gone` has a link that carries the refusal.
    """
    interaction = refusal.interaction
    if not refusal.own or interaction is None or not interaction.response_uri:
        return None
    with suppress(UntrustedRequestError, InteractionGoneError):  # another tab may have been first
        now = timezone.now()
        if opened := interactions.expired(interaction, now=now):
            return refuse(opened, AccessDeniedError(), now=now)
    return None


def straight_back(refusal: InteractionGoneError) -> HttpResponse | None:
    """Takes the refusal of an expired interaction home, for a person who asked to leave; None for others."""
    if not refusal.own or refusal.interaction is None or refusal.interaction.outcome:
        return None
    way_back = error_pages.way_back(refusal.interaction, own=True)
    return carry(way_back, refusal.interaction.relying_party) if way_back else None


def _refuse_at_once(request: HttpRequest, client: Client, error: AuthorizationError) -> HttpResponse:
    """Sends the relying party the error of a request that cannot be met in any browser, or by our fault."""
    party, address = client.relying_party, client.return_address
    _note(request, party, error)
    counters.count_error(party.client_id, error.error)
    answer = wire_format_of(party).error(error)
    if not address.posted:
        return carry(address.carried(answer), party)
    accepted, redirect_uri = True, None
    try:
        redirect_uri = posting.report(
            party, address, answer, network_address=browser.address(request), now=timezone.now()
        )
    except NoThreadFreeError:
        return error_pages.refused(request, party, error, accepted=False, status=503)
    except OutboundError:
        accepted = False
    if redirect_uri:
        return follow_redirect_uri(redirect_uri)
    return error_pages.refused(request, party, error, accepted=accepted)


def _note(request: HttpRequest, party: RelyingParty, error: AuthorizationError) -> None:
    """Notes the refusal of a new request for its developer, in the metrics and in the log.

    The log gets no description of the error.
    """
    noting(request, RefusedRequest).refused_with = error
    counters.count_request(party.client_id, counters.REFUSED)
    log_context.bind(first_step="refused", outcome="refused", error=error.error, client_id=party.client_id)
