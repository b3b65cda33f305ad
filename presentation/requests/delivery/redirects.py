"""Redirects that carry an answer to the relying party, and links back to it."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from django.http import HttpResponse

from presentation.errors import AccessDeniedError
from presentation.models import Interaction, RelyingParty
from presentation.requests.answers import issuer
from presentation.requests.client import ReturnAddress, is_registered


def redirect_home(return_address: ReturnAddress, answer: Mapping[str, str]) -> HttpResponse:
    """303 to the relying party with the answer in the fragment (RFC 9700 §4.12: never 307 after a form)."""
    return redirect_to(return_address.with_answer(answer))


def redirect_to(address: str) -> HttpResponse:
    """303 to a checked address of a relying party.

    Django's HttpResponseRedirect would refuse private-use schemes and long locations, which are valid here.
    """
    return HttpResponse(
        status=303,
        headers={
            "Location": address,
            "Cache-Control": "no-store",
            "Referrer-Policy": "no-referrer",
        },
    )


def with_own_fragment(address: str) -> str:
    """The address with a fragment, at least an empty one (RFC 9700 §4.1.3).

    Without it the browser would append the fragment of the address that it requested, which an attacker may
    have chosen.
    """
    return address if "#" in address else f"{address}#"


def way_back(interaction: Interaction, *, own: bool) -> str:
    """The link to the relying party on the page about a closed interaction; empty if there is none.

    own: the browser began the interaction. Then, if nothing was answered, the link carries the refusal with
    `state`. Otherwise it leads to the front page, without any data of the request. There is no link if the
    relying party is suspended or the address is no longer registered.
    """
    party = interaction.relying_party
    if interaction.response_uri:
        return front_page(party)
    registered = party.redirect_uris.values_list("uri", flat=True)
    if party.state != RelyingParty.State.ACTIVE or not is_registered(interaction.redirect_uri, registered):
        return ""
    if own and not interaction.outcome:
        address = ReturnAddress(interaction.redirect_uri, state=interaction.parameters.get("state"))
        return address.with_answer({"error": AccessDeniedError.error, **issuer()})
    return _front_page_of(interaction.redirect_uri)


def front_page(party: RelyingParty) -> str:
    """The front page of a relying party whose answer is posted; empty if unknown or suspended.

    A response URI is for machines, so the page is derived from the first redirect URI.
    """
    uri = party.redirect_uris.values_list("uri", flat=True).first()
    return _front_page_of(uri) if uri and party.state == RelyingParty.State.ACTIVE else ""


def _front_page_of(uri: str) -> str:
    parts = urlsplit(uri)
    return f"{parts.scheme}://{parts.netloc}/" if parts.netloc else uri
