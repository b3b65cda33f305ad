"""The redirect by which the browser carries an answer to the relying party, and other ways back to it."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from django.http import HttpResponse

from presentation.errors import AccessDeniedError
from presentation.models import Interaction, RelyingParty
from presentation.requests.answers import issuer
from presentation.requests.client import ReturnAddress, is_registered


def redirect_home(return_address: ReturnAddress, answer: Mapping[str, str]) -> HttpResponse:
    """303 to the relying application (RFC 9700 §4.12: never 307 after a form).

    Not Django's HttpResponseRedirect, which refuses private-use schemes and long locations: both are
    legitimate here, and a `ReturnAddress` exists only for a registered URI.
    """
    return redirect_to(return_address.with_answer(answer))


def redirect_to(address: str) -> HttpResponse:
    """303 to an address of a relying application that was looked at."""
    return HttpResponse(
        status=303,
        headers={
            "Location": address,
            "Cache-Control": "no-store",
            "Referrer-Policy": "no-referrer",
        },
    )


def with_own_fragment(address: str) -> str:
    """The address so that no browser hangs the fragment of the one before on it (RFC 9700 §4.1.3).

    For the redirect that answers an address which anybody may have made up.
    """
    return address if "#" in address else f"{address}#"


def way_back(interaction: Interaction, *, own: bool) -> str:
    """Where the page about a closed interaction leads: home to the relying application.

    Its own browser gets the refusal a leaving person sends, `state` included, as long as nothing was answered
    yet. Everybody else gets the front page of the application and no word about this request. Nobody is led
    to an application that was suspended, or to an address that it has given up.
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
    """Where a relying application that got its answer directly is found by people; empty if nobody knows.

    A response URI is for machines, so it is where the first of its redirect URIs is.
    """
    uri = party.redirect_uris.values_list("uri", flat=True).first()
    return _front_page_of(uri) if uri and party.state == RelyingParty.State.ACTIVE else ""


def _front_page_of(uri: str) -> str:
    parts = urlsplit(uri)
    return f"{parts.scheme}://{parts.netloc}/" if parts.netloc else uri
