"""Stages of an authorization request: read, received, identified, begun, and asked at once if that can be."""

import re
from contextlib import suppress

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, UnreadablePostError
from django.utils import translation

from consent.views.question import ask, on_to
from infra import browser, languages, log_context
from presentation.entrances.context import AuthorizeContext
from presentation.entrances.going_on import address_of_step
from presentation.entrances.sending import redirect_to
from presentation.models import RelyingParty
from presentation.parameters import LONGEST_QUERY, Parameters
from presentation.requests import interactions
from presentation.requests.client import identify
from presentation.requests.receiving.browsers import receive
from presentation.requests.wire_formats.registered import wire_format_of
from wallet.sign_in import sessions

FORM = "application/x-www-form-urlencoded"
_IN_AN_ADDRESS = re.compile(rb"[!-\x22$-~]{1,%d}" % LONGEST_QUERY)  # visible ASCII without #


def lead_from_post(request: HttpRequest) -> HttpResponse:
    """Leads a posted request, which OpenID Connect knows, to the same request by GET; 405 for all others.

    So it gets the same checks, and the cookies that browsers do not send with the form of another site.
    """
    with suppress(UnreadablePostError):
        form = request.body if request.content_type == FORM else b""
        if request.method == "POST" and _IN_AN_ADDRESS.fullmatch(form):
            query = form.decode("ascii")
            client_id = Parameters.from_query(query).values.get("client_id", "")
            party = RelyingParty.objects.filter(client_id=client_id).first()
            if party is not None and wire_format_of(party).takes_posts:
                return redirect_to(f"{request.path}?{query}")
    return HttpResponseNotAllowed(["GET", "HEAD"])


def read_parameters(context: AuthorizeContext) -> None:
    """Reads the parameters in the address, and the browser, which gets its cookie with the last stage."""
    context.browser_secret, context.browser = browser.ensure(context.request)
    context.parameters = Parameters.from_query(context.request.META.get("QUERY_STRING", ""))


def receive_request(context: AuthorizeContext) -> None:
    """Finds the request, in whichever way it is passed, and reads all rows that it and the session need."""
    request, parameters = context.request, context.parameters
    context.received, context.rows = receive(
        parameters,
        browser=context.browser,
        session_digest=sessions.digest_in(request),
        network_address=browser.address(request) if parameters.request_object_parameters() else "",
        now=context.now,
    )
    sessions.was_read(request, context.rows.session)


def identify_client(context: AuthorizeContext) -> None:
    """Finds the relying party and its return address, which are proven from here on."""
    context.client = identify(context.received, context.rows)
    context.client_id = context.client.relying_party.named_in_log().client_id


def answer_head(context: AuthorizeContext) -> HttpResponse | None:
    """HEAD learns whether the client and its return address are registered, and begins nothing."""
    if context.request.method == "HEAD":
        return HttpResponse(headers={"Cache-Control": "no-store"})
    return None


def begin_interaction(context: AuthorizeContext) -> None:
    """Begins an interaction for a valid request, not stored yet; or finds the one that was begun with it."""
    context.opened = interactions.begin(
        context.received, context.client, browser=context.browser, now=context.now
    )
    context.continues = not context.opened.is_new
    log_context.bind(interaction=str(context.opened.row.id))


def count_stranger(context: AuthorizeContext) -> None:
    """Counts a new interaction of a browser in which nobody is signed in."""
    if context.continues or context.session is not None:
        return
    if interactions.COUNTED_ALREADY not in context.request.META:
        interactions.count_stranger(
            context.opened, network_address=browser.address(context.request), now=context.now
        )


def ask_at_once(context: AuthorizeContext) -> HttpResponse | None:
    """The consent page of a new interaction as the answer to the authorization request, where that can be.

    Without JavaScript the address of the request stays in the bar, and must not show a payment there.
    """
    request, opened, session = context.request, context.opened, context.session
    consent, match = opened.row.consent, context.following.match
    if context.continues or session is None or consent is None or match is None:
        return None
    is_hidden = context.received.pushed or context.received.signed
    if opened.request.transaction_data and not is_hidden:
        return None
    language = languages.requested(request, _ui_locales(context))
    if language != translation.get_language():
        translation.activate(language)
    page = ask(request, consent, match.credential, session, context.rows.last_shared, now=context.now)
    return page and _remember(context, page)


def lead_new_to_step(context: AuthorizeContext) -> HttpResponse:
    """Redirects to the page of the step, with the cookies that a new interaction brings."""
    leads = on_to(address_of_step(context))
    return leads if context.continues else _remember(context, leads)


def _remember(context: AuthorizeContext, response: HttpResponse) -> HttpResponse:
    """The response to a new interaction, with the cookies of the browser and of the language asked for."""
    browser.remember(response, context.browser_secret)
    languages.follow(context.request, response, _ui_locales(context))
    return response


def _ui_locales(context: AuthorizeContext) -> str:
    return context.received.parameters.values.get("ui_locales", "")
