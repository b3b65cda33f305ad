"""From an answer to HTTP: the redirect that carries it home, and the pages for what may not be redirected.

The fragment is form-encoded once (OAuth 2.0 Multiple Response Types §2, OpenID4VP 1.0 §8.1), spaces as %20
so that every reader gets them back.
"""

from collections.abc import Mapping
from urllib.parse import quote, urlencode, urlsplit

from django.http import HttpResponse

from presentation.errors import AccessDeniedError
from presentation.models import Interaction, RelyingParty
from presentation.requests import vp_token
from presentation.requests.return_address import ReturnAddress, is_registered


def location(return_address: ReturnAddress, answer: Mapping[str, str]) -> str:
    """The address home, `<registered uri>#<answer>[&state=…]`; the URI's own query stays as it is."""
    fields = dict(answer)
    if return_address.state is not None:
        fields["state"] = return_address.state
    return f"{return_address.uri}#{urlencode(fields, quote_via=quote, safe='')}"


def redirect_home(return_address: ReturnAddress, answer: Mapping[str, str]) -> HttpResponse:
    """303 to the relying application (RFC 9700 §4.12: never 307 after a form).

    Not Django's HttpResponseRedirect, which refuses private-use schemes and long locations: both are
    legitimate here, and a `ReturnAddress` exists only for a registered URI.
    """
    return redirect_to(location(return_address, answer))


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
        return location(address, {"error": AccessDeniedError.error, **vp_token.issuer()})
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
