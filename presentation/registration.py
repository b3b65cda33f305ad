"""Who asks, and where their answer goes: the two things that must be certain before anything is redirected."""

from django.utils.translation import gettext as _

from presentation.errors import UntrustedRequestError
from presentation.models import RedirectURI, RelyingParty
from presentation.parameters import Parameters
from presentation.return_address import ReturnAddress


def identify(parameters: Parameters) -> tuple[RelyingParty, ReturnAddress]:
    """The active relying party of `client_id` and the return address proven by its registered URIs.

    Raises `UntrustedRequestError` (RFC 6749 §4.2.2.1: tell the person, never redirect).
    """
    client_id = _single(parameters, "client_id")
    uri = _single(parameters, "redirect_uri")
    rows = RedirectURI.objects.filter(relying_party__client_id=client_id).select_related("relying_party")
    registered = list(rows)  # one joined read: the party and all its addresses
    party = registered[0].relying_party if registered else None
    if party is None or party.state != RelyingParty.State.ACTIVE:
        raise UntrustedRequestError(_("The application that sent you here is not registered with us."))
    state = None if "state" in parameters.repeated else parameters.values.get("state")
    return party, ReturnAddress.registered(uri, [row.uri for row in registered], state=state)


def _single(parameters: Parameters, name: str) -> str:
    if name in parameters.repeated:
        raise UntrustedRequestError(_("The request names its %(name)s more than once.") % {"name": name})
    value = parameters.values.get(name)
    if not value:
        raise UntrustedRequestError(_("The request does not say its %(name)s.") % {"name": name})
    return value
