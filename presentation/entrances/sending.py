"""Sends answers to relying parties: by a redirect of the browser, or by posting them."""

from datetime import datetime

from django.conf import settings
from django.http import HttpResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone

from consent.views.question import on_to
from infra import content_policy
from presentation.errors import AuthorizationError
from presentation.models import Interaction, RelyingParty
from presentation.requests import answers
from presentation.requests.client import CarriedAnswer
from presentation.requests.delivery import deliveries
from presentation.requests.interactions import OpenInteraction

# The page has nothing but its script and style.
FORM_POST_CSP = {
    "default-src": ["'none'"],
    "script-src": ["'self'"],
    "style-src": ["'self'"],
    "img-src": ["'self'"],
    "base-uri": ["'none'"],
    "frame-ancestors": ["'none'"],
}


def refuse(opened: OpenInteraction, error: AuthorizationError, *, now: datetime) -> HttpResponse:
    """Closes the interaction with this error, and sends it."""
    return send(opened, answers.refuse(opened, error, now=now))


def send(opened: OpenInteraction, answer: dict[str, str]) -> HttpResponse:
    """Sends the answer with which the interaction was closed just now, so that its address is checked."""
    if not opened.return_address.posted:
        return carry(opened.return_address.carried(answer), opened.relying_party)
    deliveries.deliver(opened.row, checked=True, now=timezone.now())
    return after_delivery(opened.row)


def after_delivery(interaction: Interaction) -> HttpResponse:
    """Redirects to where the relying party sends the browser, or to the page about the delivery."""
    kept = deliveries.of(interaction)
    redirect_uri = deliveries.redirect_uri_of(kept, now=timezone.now()) if kept else None
    if redirect_uri:
        return follow_redirect_uri(redirect_uri)
    return on_to(reverse("delivery", args=[interaction.id]))


def follow_redirect_uri(redirect_uri: str) -> HttpResponse:
    """303 to the `redirect_uri` of a relying party's response to a posted answer (OpenID4VP 1.0 §8.2).

    Without a fragment of its own the browser would append that of the address it requested, which an attacker
    may have chosen (RFC 9700 §4.1.3).
    """
    return redirect_to(redirect_uri if "#" in redirect_uri else f"{redirect_uri}#")


def carry(answer: CarriedAnswer, party: RelyingParty) -> HttpResponse:
    """Lets the browser carry the answer: by a redirect, or by a form that its page sends at once.

    Without JavaScript, a button sends it. The page says who we are as its origin, because some frameworks
    refuse a form from nowhere. It has no `form-action`, which browsers apply to redirects after the form too.
    """
    if answer.fields is None:
        return redirect_to(answer.address)
    context = {"answer": answer, "relying_party": party.name}
    response = HttpResponse(
        render_to_string("presentation/form_post.html", context),
        headers={"Cache-Control": "no-store", "Referrer-Policy": "strict-origin"},
    )
    return content_policy.give(response, FORM_POST_CSP)


def redirect_to(address: str) -> HttpResponse:
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
