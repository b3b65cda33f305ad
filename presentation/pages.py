"""Pages of requests that do not go on: not ours to answer, not open any more, or not arrived yet."""

from datetime import datetime

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _

from consent.pages import REVIEW_CSP
from presentation import deliveries
from presentation.errors import AuthorizationError, UntrustedRequestError
from presentation.interactions import InteractionGoneError
from presentation.models import Delivery, Interaction, RelyingParty
from presentation.passage import Passage
from presentation.responses import redirects


def untrusted(request: HttpRequest, error: UntrustedRequestError) -> HttpResponse:
    """400, never a redirect: nobody has vouched for where it would go (RFC 6749 §4.2.2.1)."""
    return render(request, "presentation/untrusted.html", {"error": error}, status=400)


def refused(
    request: HttpRequest, party: RelyingParty, error: AuthorizationError, *, told: bool
) -> HttpResponse:
    """400 for a request that was not even begun, whose refusal was posted; told: whether it arrived."""
    context = {"relying_party": party.name, "told": told, "hint": error.description}
    return render(request, "presentation/refused.html", context, status=400)


def unavailable(request: HttpRequest, passage: Passage) -> HttpResponse:
    """What was asked for is not there. Only the holder is told; home goes the refusal of a click, as ever."""
    context = {
        "relying_party": passage.relying_party.name,
        "leave": reverse("leave", args=[passage.interaction.id]),
    }
    return _kept_nowhere(render(request, "presentation/unavailable.html", context))


def gone(request: HttpRequest, gone: InteractionGoneError) -> HttpResponse:
    """410, and a way back to the relying application, which can start again."""
    context: dict[str, object] = {"title": _("This request is no longer open")}
    if gone.interaction is not None:
        context |= {
            "relying_party": gone.interaction.relying_party.name,
            "way_back": redirects.way_back(gone.interaction, own=gone.own),
            "answered": gone.own and bool(gone.interaction.outcome),
        }
    return _kept_nowhere(render(request, "presentation/gone.html", context, status=410))


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
        "refused": kept.refused,
        "held_for": deliveries.held_for(kept, now=now),
        "front_page": redirects.front_page(interaction.relying_party),
    }
    response = _kept_nowhere(render(request, "presentation/delivery.html", context))
    response._csp_config = REVIEW_CSP  # type: ignore[attr-defined]
    return response


def _kept_nowhere(response: HttpResponse) -> HttpResponse:
    response.headers["Cache-Control"] = "no-store"
    return response
