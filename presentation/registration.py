"""Who asks, and where their answer goes: what must be certain before anything is redirected."""

from django.utils.translation import gettext as _

from keys.prepared_statements import PreparedRead
from presentation.errors import UntrustedRequestError
from presentation.models import RedirectURI, RelyingParty
from presentation.parameters import Parameters
from presentation.return_address import ReturnAddress

_by_client_id = PreparedRead(
    lambda value: RedirectURI.objects.filter(relying_party__client_id=value("client_id")).select_related(
        "relying_party"
    )
)
_uris = PreparedRead(
    lambda value: RedirectURI.objects.filter(relying_party=value("party")).values_list("uri", flat=True)
)


def identify(parameters: Parameters) -> tuple[RelyingParty, ReturnAddress]:
    """The active relying party of `client_id` and the return address proven by its registered URIs.

    Raises `UntrustedRequestError` (RFC 6749 §4.2.2.1: tell the person, never redirect).
    """
    client_id = _usable(parameters, "client_id")
    uri = _usable(parameters, "redirect_uri")
    registered = _by_client_id.all(client_id=client_id)  # one joined read: the party and all its addresses
    party = registered[0].relying_party if registered else None
    if party is None or party.state != RelyingParty.State.ACTIVE:
        raise UntrustedRequestError(
            _("The application that sent you here is not registered with us."),
            "client_id must name an active relying party with a redirect URI",
        )
    state = parameters.get("state")
    return party, ReturnAddress.registered(uri, [row.uri for row in registered], state=state)


def registered_uris(party: RelyingParty) -> list[str]:
    """Where the party's answers may go now."""
    return _uris.all(party=party.pk)


def _usable(parameters: Parameters, name: str) -> str:
    problem = parameters.problem(name)
    value = parameters.get(name)
    if problem or not value:
        raise UntrustedRequestError(
            _("The application that sent you here made a mistake in its request."),
            problem or f"{name} is missing",
        )
    return value
