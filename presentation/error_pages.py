"""Pages for requests that cannot continue: untrusted, refused, without a match, closed, or being posted."""

from datetime import datetime
from urllib.parse import urlsplit

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from consent.models import Consent
from consent.question_page import REVIEW_CSP
from infra import content_policy
from infra.again import again_after
from infra.served import noting
from presentation.errors import AccessDeniedError, AuthorizationError, RefusedRequest, UntrustedRequestError
from presentation.models import Delivery, Interaction, RelyingParty
from presentation.requests.client import CarriedAnswer, Client, is_registered
from presentation.requests.delivery import deliveries
from presentation.requests.interactions import InteractionGoneError, OpenInteraction, return_address_of
from presentation.requests.wire_formats.registered import wire_format_of


def untrusted(request: HttpRequest, error: UntrustedRequestError) -> HttpResponse:
    """The page for a request without a proven return address; never a redirect (RFC 6749 §4.2.2.1)."""
    noting(request, RefusedRequest).refused_with = error
    response = render(request, "presentation/untrusted.html", {"error": error}, status=error.status)
    return response if error.seconds is None else again_after(error.seconds, response)


def refused(
    request: HttpRequest, party: RelyingParty, error: AuthorizationError, *, accepted: bool, status: int = 400
) -> HttpResponse:
    """For an invalid request whose refusal was posted. accepted: by the relying party.

    status: 503 when too many threads wait for relying parties; the same request, sent again, posts the
    refusal.
    """
    context = {"relying_party": party.name, "told": accepted, "hint": error.description}
    response = render(request, "presentation/refused.html", context, status=status)
    return again_after(1, response) if status == 503 else response


def too_many(
    request: HttpRequest, client: Client, error: AuthorizationError, retry_after: str
) -> HttpResponse:
    """429: a limit refuses the request in this browser. The relying party gets the error after a click.

    retry_after: seconds.
    """
    context = {"relying_party": client.relying_party.name, "way_back": _with_error(client, error)}
    response = render(request, "presentation/too_many.html", context, status=429)
    return again_after(retry_after, _kept_nowhere(_lets_back(response)))


def our_fault(request: HttpRequest, client: Client, error: AuthorizationError) -> HttpResponse:
    """503: nobody can evaluate the request for this person. The link carries the error."""
    context = {"relying_party": client.relying_party.name, "way_back": _with_error(client, error)}
    return _kept_nowhere(_lets_back(render(request, "presentation/our_fault.html", context, status=503)))


def _with_error(client: Client, error: AuthorizationError) -> CarriedAnswer | None:
    """The link or form that carries the error; to the front page of a party whose answers are posted."""
    party, address = client.relying_party, client.return_address
    if address.posted:  # a response URI is for machines
        return _front_page(party)
    return address.carried(wire_format_of(party).error(error))


def unavailable(request: HttpRequest, opened: OpenInteraction) -> HttpResponse:
    """Tells the holder that no credential matches. The relying party gets the usual refusal after a click."""
    context = {
        "relying_party": opened.relying_party.name,
        "leave": reverse("leave", args=[opened.row.id]),
    }
    return _kept_nowhere(render(request, "presentation/unavailable.html", context))


def gone(request: HttpRequest, gone: InteractionGoneError) -> HttpResponse:
    """410: the outcome of a closed interaction, and a link back to the relying party.

    An answered interaction may still need the link, because the redirect with the answer may have been lost.
    """
    context: dict[str, object] = {}
    if gone.interaction is not None:
        context |= {
            "relying_party": gone.interaction.relying_party.name,
            "way_back": way_back(gone.interaction, own=gone.own),
        }
        if gone.own:
            context |= {"own": True} | _answered(gone.interaction)
    return _kept_nowhere(_lets_back(render(request, "presentation/gone.html", context, status=410)))


def _answered(interaction: Interaction) -> dict[str, object]:
    """The outcome and the holder's decision, for the browser that began the interaction."""
    consent = interaction.consent
    decision = consent.decision if consent and consent.decision != Consent.Decision.ASKED else ""
    return {
        "ended": bool(interaction.outcome),
        "answered": decision if interaction.outcome else "",
        "shared": interaction.outcome == Interaction.Outcome.TOKEN,
    }


def delivery(
    request: HttpRequest, interaction: Interaction, kept: Delivery, *, now: datetime
) -> HttpResponse:
    """The state of an answer that is posted, with buttons to retry or to give up."""
    context = {
        "relying_party": interaction.relying_party.name,
        "delivery_state": deliveries.state_of(kept, now=now).name.lower(),
        "refusal": interaction.outcome == Interaction.Outcome.ERROR,
        "expired": interaction.answered_at is not None and interaction.answered_at >= interaction.expires_at,
        "may_have_arrived": kept.left_here,
        "last_try": _last_try(kept),
        "held_for": deliveries.held_for(kept, now=now),
        "front_page": _front_page(interaction.relying_party),
    }
    response = _kept_nowhere(render(request, "presentation/delivery.html", context))
    return content_policy.give(response, REVIEW_CSP)


def _last_try(kept: Delivery) -> str:
    """The result of the last try. If its process was killed, the result is “unconfirmed”."""
    if kept.tries == 0:
        return "none"
    if kept.refused:
        return "refused"
    return "unconfirmed" if kept.left_here else "unreached"


def _lets_back(response: HttpResponse) -> HttpResponse:
    """The page, whose form may lead to the relying party."""
    return content_policy.give(response, REVIEW_CSP)


def _kept_nowhere(response: HttpResponse) -> HttpResponse:
    response.headers["Cache-Control"] = "no-store"
    return response


def way_back(interaction: Interaction, *, own: bool) -> CarriedAnswer | None:
    """The link or form to the relying party on the page about a closed interaction; None if there is none.

    own: the browser began the interaction. Then, if nothing was answered, it carries the refusal with
    `state`. Otherwise it leads to the front page, without any data of the request. There is no link if the
    relying party is suspended or the address is no longer registered.
    """
    party = interaction.relying_party
    if interaction.response_uri:
        return _front_page(party)
    registered = party.redirect_uris.values_list("uri", flat=True)
    if party.state != RelyingParty.State.ACTIVE or not is_registered(interaction.redirect_uri, registered):
        return None
    if own and not interaction.outcome:
        refusal = wire_format_of(party).error(AccessDeniedError())
        return return_address_of(interaction).carried(refusal)
    return CarriedAnswer(_front_page_of(interaction.redirect_uri))


def _front_page(party: RelyingParty) -> CarriedAnswer | None:
    """The front page of a relying party whose answer is posted; None if unknown or suspended.

    A response URI is for machines, so the page is derived from the first redirect URI.
    """
    uri = party.redirect_uris.values_list("uri", flat=True).first()
    if uri is None or party.state != RelyingParty.State.ACTIVE:
        return None
    return CarriedAnswer(_front_page_of(uri))


def _front_page_of(uri: str) -> str:
    parts = urlsplit(uri)
    return f"{parts.scheme}://{parts.netloc}/" if parts.netloc else uri
