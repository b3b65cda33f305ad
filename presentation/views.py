"""Views for browsers: the authorization endpoint, the interaction, its delivery, logos, beginning again."""

import re
import uuid
from contextlib import suppress
from datetime import datetime

from django.conf import settings
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, UnreadablePostError
from django.urls import reverse
from django.utils import timezone, translation
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_http_methods

from consent import decisions
from consent.models import Consent
from consent.views import MORE_TIME, SHARE, CodeWantedError, ask, on_to, read_choice, store_choice
from infra import browser, languages, log_context
from infra.limits import LimitReachedError
from infra.outbound.calls import OutboundError
from infra.paths import path_with_id
from infra.served import noting
from infra.waiting import NoThreadFreeError
from presentation import error_pages
from presentation.errors import (
    AccessDeniedError,
    AuthorizationError,
    TemporarilyUnavailableError,
    UntrustedRequestError,
)
from presentation.fast_path.reading import StatusIndex, read_interaction
from presentation.models import Interaction, RelyingParty
from presentation.relying_parties.models.relying_parties import OPENID_CONNECT
from presentation.requests import answers, interactions
from presentation.requests.carriers.browsers import receive
from presentation.requests.client import CarriedRequest, Client, identify
from presentation.requests.delivery import deliveries, posting
from presentation.requests.interactions import InteractionGoneError, OpenInteraction
from presentation.requests.next_step import NextStep, Step, longest_end, next_step, prepare
from presentation.requests.parameters import LONGEST_QUERY, Parameters
from wallet import errands
from wallet.decorators import NOT_ME, TRY_AGAIN, page_of
from wallet.models import HolderSession
from wallet.sign_in import sessions

FORM = "application/x-www-form-urlencoded"
_IN_AN_ADDRESS = re.compile(rb"[!-\x22$-~]{1,%d}" % LONGEST_QUERY)  # visible ASCII without #


@csrf_exempt  # a POST does no more than lead to a GET
def authorize(request: HttpRequest) -> HttpResponse:
    """The authorization endpoint (contract, Endpoints 1; OpenID4VP 1.0 §5; OpenID Connect Core 1.0 §3.1.2).

    A holder who needs no other step gets the consent page as the answer; all others are redirected to their
    next step. HEAD learns whether the client and the address for the answer are registered.
    """
    if request.method not in ("GET", "HEAD"):
        return _posted(request)
    now = timezone.now()
    secret, digest = browser.ensure(request)
    try:
        parameters = Parameters.from_query(request.META.get("QUERY_STRING", ""))
        carried, rows = receive(
            parameters,
            browser=digest,
            session_digest=sessions.digest_in(request),
            network_address=browser.address(request) if parameters.carriers() else "",
            now=now,
        )
        sessions.was_read(request, rows.session)
        client = identify(carried, rows)
        client.relying_party.named_in_log()
        if request.method == "HEAD":
            return HttpResponse(headers={"Cache-Control": "no-store"})
        opened = interactions.begin(carried, client, browser=digest, now=now)
    except AuthorizationError as error:
        return _refuse_at_once(request, client, error)
    except InteractionGoneError as gone:
        return _gone(request, gone)
    except UntrustedRequestError as error:
        log_context.bind(first_step="untrusted")
        return error_pages.untrusted(request, error)
    log_context.bind(interaction=str(opened.row.id))
    # Only now, because from here on the response depends on who is signed in in this browser.
    session = sessions.current(request, now=now)
    if not opened.is_new:  # the same request again: it goes on as at the address of its interaction
        return _go_on(request, opened, session, now=now)
    try:
        if session is None and interactions.COUNTED_ALREADY not in request.META:
            interactions.count_stranger(opened, network_address=browser.address(request), now=now)
        following = next_step(opened, session, now=now)
        prepare(opened, following, now=now)
    except LimitReachedError as limit:
        return _refuse_after_click(request, client, TemporarilyUnavailableError(), limit.retry_after(now))
    except AuthorizationError as error:  # our fault, and nobody can bring it about
        return _refuse_at_once(request, client, error)
    log_context.bind(first_step=following.step, client_id=client.relying_party.client_id)
    response = _asked_at_once(request, carried, opened, following, session, rows.last_shared, now=now)
    response = response or on_to(_address(opened, following))
    browser.remember(response, secret)
    languages.follow(request, response, carried.parameters.values.get("ui_locales", ""))
    return response


def _posted(request: HttpRequest) -> HttpResponse:
    """A posted request, which OpenID Connect knows, leads to the same request by GET; 405 for all others.

    So it gets the same checks, and the cookies that browsers do not send with the form of another site.
    """
    with suppress(UnreadablePostError):
        form = request.body if request.content_type == FORM else b""
        if request.method == "POST" and _IN_AN_ADDRESS.fullmatch(form):
            query = form.decode("ascii")
            client_id = Parameters.from_query(query).values.get("client_id", "")
            if RelyingParty.objects.filter(client_id=client_id, wire_format=OPENID_CONNECT).exists():
                return _redirect_to(f"{request.path}?{query}")
    return HttpResponseNotAllowed(["GET", "HEAD"])


def _asked_at_once(
    request: HttpRequest,
    carried: CarriedRequest,
    opened: OpenInteraction,
    following: NextStep,
    session: HolderSession | None,
    last_shared: Consent | None,
    *,
    now: datetime,
) -> HttpResponse | None:
    """The consent page as the answer to the authorization request; None if the browser is redirected.

    The address of the request stays in the bar without JavaScript, and must not show a payment there.
    """
    consent, is_hidden = opened.row.consent, carried.pushed or carried.signed
    if session is None or consent is None or following.match is None:
        return None
    if opened.request.transaction_data and not is_hidden:
        return None
    language = languages.requested(request, carried.parameters.values.get("ui_locales", ""))
    if language != translation.get_language():
        translation.activate(language)
    return ask(request, consent, following.match.credential, session, last_shared, now=now)


@require_http_methods(["GET", "POST"])
def resume(request: HttpRequest, interaction_id: uuid.UUID) -> HttpResponse:
    """Continues an interaction with its next step.

    The consent page submits its form here, so that one request stores the decision and sends the answer.
    """
    now = timezone.now()
    shares = request.method == "POST" and request.POST.get("decision") == SHARE
    rows = read_interaction(
        interaction_id, session_digest=sessions.digest_in(request), wants_index=shares, now=now
    )
    sessions.was_read(request, rows.session)
    session = sessions.current(request, now=now)
    try:
        opened = interactions.recall(
            rows.interaction,
            browser=browser.digest(request),
            registered_uris=rows.registered_uris,
            now=now,
        )
        if request.method == "GET" and TRY_AGAIN in request.GET and opened.row.consent_id:
            # After a form without a decision; the consent page also shows a decision made meanwhile.
            return on_to(reverse("consent_review", args=[opened.row.consent_id], query={TRY_AGAIN: 1}))
        if _asks_for_more_time(request):
            given = give_more_time(opened, now=now)  # where it cannot, the page says why
            asked_on = page_of(opened.row.errand_id, request.POST.get("page", ""))
            if given and not asked_on and opened.row.consent_id:
                asked_on = path_with_id("consent_review", opened.row.consent_id)
            given_there = f"{asked_on}?{MORE_TIME}=1" if given and asked_on else ""
            return on_to(given_there or asked_on or interactions.path_of(opened.row))
        try:
            stopped = _decided(request, opened.row, session, now=now, opened=opened, index=rows.free_index)
        except CodeWantedError:
            return _go_on(request, opened, session, by_code=True, now=now)
        return stopped or _go_on(request, opened, session, now=now)
    except InteractionGoneError as gone:
        # "Not me" signs the holder out in any browser. Other decisions count only in the browser that began,
        # and none after the expiry.
        answered = gone.own and gone.interaction is not None and gone.interaction.outcome
        may = answered or request.POST.get("decision") == NOT_ME
        closed = None
        with suppress(CodeWantedError):  # too late for a code as well
            closed = _decided(request, gone.interaction, session, now=now) if may else None
        return _expired(gone) or closed or _gone(request, gone)
    except UntrustedRequestError as error:
        return error_pages.untrusted(request, error)


@csrf_exempt  # other methods are refused as such
@require_GET
def leave(request: HttpRequest, interaction_id: uuid.UUID) -> HttpResponse:
    """Refuses the request with `access_denied`: the link to leave on the pages of sign-in and enrolment."""
    now = timezone.now()
    try:
        opened = interactions.recall(
            interactions.find(interaction_id), browser=browser.digest(request), now=now
        )
        return _refuse(opened, AccessDeniedError(), now=now)
    except InteractionGoneError as gone:
        return _expired(gone) or _straight_back(gone) or _gone(request, gone)
    except UntrustedRequestError as error:
        return error_pages.untrusted(request, error)


@require_http_methods(["GET", "POST"])
def delivery(request: HttpRequest, interaction_id: uuid.UUID) -> HttpResponse:
    """Shows the state of an answer that is posted; a form submitted here retries it or gives up."""
    now = timezone.now()
    try:
        interaction = interactions.answered(interaction_id, browser=browser.digest(request))
    except InteractionGoneError as gone:
        return _expired(gone) or _gone(request, gone)
    if request.method == "POST":
        act = deliveries.give_up if request.POST.get("choice") == "give_up" else deliveries.deliver
        act(interaction, now=now)
        return _after_delivery(interaction)
    kept = deliveries.of(interaction)
    if kept is None:
        return _gone(request, InteractionGoneError(interaction, own=True))
    if onward := deliveries.onward(kept, now=now):
        return _redirect_to(onward)
    return error_pages.delivery(request, interaction, kept, now=now)


def _asks_for_more_time(request: HttpRequest) -> bool:
    return request.method == "POST" and request.POST.get("decision") == MORE_TIME


def _decided(
    request: HttpRequest,
    interaction: Interaction | None,
    session: HolderSession | None,
    *,
    now: datetime,
    opened: OpenInteraction | None = None,
    index: StatusIndex | None = None,
) -> HttpResponse | None:
    """Acts on a submitted form of the consent page; the response, unless the interaction goes on.

    opened, index: of an open interaction, whose answer is sent at once if it can be stored with the yes.
    """
    if request.method != "POST" or _asks_for_more_time(request):
        return None
    if session is None or interaction is None or interaction.consent is None:
        return None
    choice = read_choice(request, interaction.consent, session, now=now)
    if isinstance(choice, HttpResponse):
        return choice
    if opened is not None and choice.shares:
        answer = answers.answer_at_once(opened, session, index, switched_on=choice.switched_on, now=now)
        if answer is not None:
            return _redirect_to(opened.return_address.with_answer(answer))
    return store_choice(request, interaction.consent, session, choice, now=now)


def _go_on(
    request: HttpRequest,
    opened: OpenInteraction,
    session: HolderSession | None,
    *,
    now: datetime,
    by_code: bool = False,
) -> HttpResponse:
    try:
        following = next_step(opened, session, now=now, by_code=by_code)
        if following.step is Step.REFUSE:
            raise AccessDeniedError
        if following.step is Step.ANSWER:
            return _send(opened, answers.answer(opened, following, session, now=now))
        if following.step is Step.UNAVAILABLE:
            return error_pages.unavailable(request, opened)
        asked_before = opened.row.consent_id
        prepare(opened, following, now=now)
    except AuthorizationError as error:
        return _refuse(opened, error, now=now)
    if opened.row.consent_id != asked_before:
        log_context.bind(asked=True, client_id=opened.relying_party.client_id)
    if following.step is Step.SIGN_IN and NOT_ME in request.GET:
        return on_to(f"{_address(opened, following)}?{NOT_ME}=1")
    return on_to(_address(opened, following))


def _address(opened: OpenInteraction, following: NextStep) -> str:
    """The address of a step; `prepare` has inserted the row that it needs."""
    match following.step:
        case Step.SIGN_IN:
            return reverse("wallet_sign_in", args=[opened.row.errand_id])
        case Step.ENROLL:
            return reverse("wallet_identity", args=[opened.row.errand_id])
        case Step.CONSENT:
            return path_with_id("consent_review", opened.row.consent_id)  # type: ignore[arg-type]
        case _:
            return interactions.path_of(opened.row)


def _refuse(opened: OpenInteraction, error: AuthorizationError, *, now: datetime) -> HttpResponse:
    return _send(opened, answers.refuse(opened, error, now=now))


def _send(opened: OpenInteraction, answer: dict[str, str]) -> HttpResponse:
    """Sends the answer to the relying party: by redirect, or by posting it."""
    if not opened.return_address.posted:
        return _redirect_to(opened.return_address.with_answer(answer))
    deliveries.deliver(opened.row, checked=True, now=timezone.now())  # `answers` checked the address
    return _after_delivery(opened.row)


def _after_delivery(interaction: Interaction) -> HttpResponse:
    """Redirects to where the relying party sends the browser, or to the page about the delivery."""
    kept = deliveries.of(interaction)
    onward = deliveries.onward(kept, now=timezone.now()) if kept else None
    if onward:
        return _redirect_to(onward)
    return on_to(reverse("delivery", args=[interaction.id]))


def _redirect_to(address: str) -> HttpResponse:
    """303 to a checked address of a relying party (RFC 9700 §4.12: never 307 after a form).

    Django's HttpResponseRedirect would refuse private-use schemes and long locations, which are valid here.
    """
    return HttpResponse(
        status=303,
        headers={
            "Location": address,
            "Cache-Control": "no-store",
            # The answer's, and not that of the pages, which a cookie of the browser may decide.
            "Content-Language": settings.LANGUAGE_CODE,
            "Referrer-Policy": "no-referrer",
        },
    )


def _refuse_at_once(request: HttpRequest, client: Client, error: AuthorizationError) -> HttpResponse:
    """Sends the relying party the error of a request that cannot be met in any browser, or by our fault."""
    party, address = client.relying_party, client.return_address
    _note_refusal(request, party, error)
    refusal = answers.refusal(error)
    if not address.posted:
        return _redirect_to(address.with_answer(refusal))
    accepted, onward = True, None
    try:
        onward = posting.report(
            party, address, refusal, network_address=browser.address(request), now=timezone.now()
        )
    except NoThreadFreeError:
        return error_pages.refused(request, party, error, accepted=False, status=503)
    except OutboundError:
        accepted = False
    if onward:
        # Without a fragment of its own the browser would append that of the address it requested, which an
        # attacker may have chosen (RFC 9700 §4.1.3).
        return _redirect_to(onward if "#" in onward else f"{onward}#")
    return error_pages.refused(request, party, error, accepted=accepted)


def _refuse_after_click(
    request: HttpRequest, client: Client, error: AuthorizationError, retry_after: str
) -> HttpResponse:
    """The page about a limit that refuses this browser and not every one, with a link that carries the error.

    Sent at once, the error would tell whoever redirects the browser here and back whether somebody is signed
    in in it, or has been here before. retry_after: seconds.
    """
    _note_refusal(request, client.relying_party, error)
    return error_pages.too_many(request, client, error, retry_after)


def _note_refusal(request: HttpRequest, party: RelyingParty, error: AuthorizationError) -> None:
    """For the developer, and, without the description, for the log."""
    noting(request, error_pages.RefusedRequest).refused_with = error
    log_context.bind(first_step="refused", outcome="refused", error=error.error, client_id=party.client_id)


def _expired(gone: InteractionGoneError) -> HttpResponse | None:
    """Refuses an expired interaction whose answer is posted, when its browser returns; None for others.

    For an answer by redirect, the page of `_gone` has a link that carries the refusal.
    """
    interaction = gone.interaction
    if not gone.own or interaction is None or not interaction.response_uri:
        return None
    with suppress(UntrustedRequestError, InteractionGoneError):  # another tab may have been first
        now = timezone.now()
        if opened := interactions.expired(interaction, now=now):
            return _refuse(opened, AccessDeniedError(), now=now)
    return None


def _straight_back(gone: InteractionGoneError) -> HttpResponse | None:
    """Takes the refusal of an expired interaction home, for a person who asked to leave; None for others."""
    if not gone.own or gone.interaction is None or gone.interaction.outcome:
        return None
    address = error_pages.way_back(gone.interaction, own=True)
    return _redirect_to(address) if address else None


def _gone(request: HttpRequest, gone: InteractionGoneError) -> HttpResponse:
    """The page about the delivery of a posted answer, or the page with a link back to the relying party."""
    if gone.own and gone.interaction is not None and gone.interaction.answer_is_posted:
        return _after_delivery(gone.interaction)
    return error_pages.gone(request, gone)


def give_more_time(opened: OpenInteraction, *, now: datetime) -> bool:
    """Gives another `LIFETIME` from now, but never beyond `longest_end`; returns whether it could.

    All rows change together or not at all. The rows are changed in the order in which `answers` changes them,
    so that neither waits for the other.
    """
    row = opened.row
    until = min(now + interactions.LIFETIME, longest_end(opened))
    still_open = Interaction.objects.filter(
        id=row.id, outcome=Interaction.Outcome.NONE, expires_at__gt=now, expires_at__lt=until
    )
    with transaction.atomic():
        given = still_open.update(expires_at=until) == 1
        if given and row.consent_id:
            given = decisions.extend(row.consent_id, until=until, now=now)
        if given and row.errand_id:
            errands.extend(row.errand_id, until=until)
        transaction.set_rollback(not given)
    return given
