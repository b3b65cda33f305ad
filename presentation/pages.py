"""Pages of requests that do not go on: not ours to answer, not open any more, or not arrived yet."""

from datetime import datetime

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from consent.models import Consent
from consent.pages import REVIEW_CSP
from infra.again import again_after
from presentation.errors import AuthorizationError, UntrustedRequestError
from presentation.models import Delivery, Interaction, RelyingParty
from presentation.requests.delivery import deliveries, redirects
from presentation.requests.interactions import InteractionGoneError, OpenInteraction


def untrusted(request: HttpRequest, error: UntrustedRequestError) -> HttpResponse:
    """Never a redirect: nobody has vouched for where it would go (RFC 6749 §4.2.2.1)."""
    response = render(request, "presentation/untrusted.html", {"error": error}, status=error.status)
    return response if error.seconds is None else again_after(error.seconds, response)


def refused(
    request: HttpRequest, party: RelyingParty, error: AuthorizationError, *, told: bool
) -> HttpResponse:
    """400 for a request that was not even begun, whose refusal was posted; told: whether it arrived."""
    context = {"relying_party": party.name, "told": told, "hint": error.description}
    return render(request, "presentation/refused.html", context, status=400)


def refused_later(request: HttpRequest, party: RelyingParty, error: AuthorizationError) -> HttpResponse:
    """503: no thread was free to post the refusal. The same request, sent again, posts it."""
    response = refused(request, party, error, told=False)
    response.status_code = 503
    return again_after(1, response)


def unavailable(request: HttpRequest, opened: OpenInteraction) -> HttpResponse:
    """The holder has no matching credential. Only they are told; their click sends the usual refusal."""
    context = {
        "relying_party": opened.relying_party.name,
        "leave": reverse("leave", args=[opened.row.id]),
    }
    return _kept_nowhere(render(request, "presentation/unavailable.html", context))


def gone(request: HttpRequest, gone: InteractionGoneError) -> HttpResponse:
    """410: what is known of a request that cannot go on, and a way back to where it can be started again.

    That an answer was given does not say that it arrived: its redirect may have been lost on the way.
    """
    context: dict[str, object] = {}
    if gone.interaction is not None:
        context |= {
            "relying_party": gone.interaction.relying_party.name,
            "way_back": redirects.way_back(gone.interaction, own=gone.own),
        }
        if gone.own:
            context |= {"own": True} | _answered(gone.interaction)
    return _kept_nowhere(render(request, "presentation/gone.html", context, status=410))


def _answered(interaction: Interaction) -> dict[str, object]:
    """How the request ended and what its holder decided, for the browser that began it."""
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
    """How an answer that is posted stands, and what can be done about it."""
    context = {
        "relying_party": interaction.relying_party.name,
        "standing": deliveries.standing(kept, now=now).name.lower(),
        "refusal": interaction.outcome == Interaction.Outcome.ERROR,
        "lapsed": interaction.answered_at is not None and interaction.answered_at >= interaction.expires_at,
        "may_have_arrived": kept.left_here,
        "last_try": _last_try(kept),
        "held_for": deliveries.held_for(kept, now=now),
        "front_page": redirects.front_page(interaction.relying_party),
    }
    response = _kept_nowhere(render(request, "presentation/delivery.html", context))
    response._csp_config = REVIEW_CSP  # type: ignore[attr-defined]
    return response


def _last_try(kept: Delivery) -> str:
    """What is known of it. A process that was killed while it posted the answer leaves it unconfirmed."""
    if kept.tries == 0:
        return "none"
    if kept.refused:
        return "refused"
    return "unconfirmed" if kept.left_here else "unreached"


def _kept_nowhere(response: HttpResponse) -> HttpResponse:
    response.headers["Cache-Control"] = "no-store"
    return response
