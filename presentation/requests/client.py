"""Who asks, and where their answer goes: what must be certain before anything is redirected."""

from dataclasses import dataclass

from django.db.models import Exists, OuterRef
from django.utils.translation import gettext as _

from infra.database.prepared_statements import PreparedRead
from presentation.errors import UntrustedRequestError
from presentation.models import Interaction, RedirectURI, RelyingParty, ResponseURI
from presentation.relying_parties.metadata import public_keys
from presentation.requests import authorization_request
from presentation.requests.authorization_request import Allowance, AuthorizationRequest, nonce_digest
from presentation.requests.parameters import Parameters
from presentation.requests.return_address import DIRECT_POST, FRAGMENT, POSTED, RESPONSE_MODES, ReturnAddress


def _with_its_addresses(model: type[RedirectURI] | type[ResponseURI]) -> PreparedRead:
    return PreparedRead(
        lambda value: (
            model.objects.filter(relying_party__client_id=value("client_id"))
            .select_related("relying_party")
            .annotate(
                nonce_used=Exists(
                    Interaction.objects.filter(
                        relying_party=OuterRef("relying_party"),
                        nonce_digest=value("nonce_digest"),
                        outcome=Interaction.Outcome.TOKEN,
                    )
                )
            )
        )
    )


_with_redirect_uris = _with_its_addresses(RedirectURI)
_with_response_uris = _with_its_addresses(ResponseURI)
_by_client_id = {"redirect_uri": _with_redirect_uris, "response_uri": _with_response_uris}
_uris = PreparedRead(
    lambda value: RedirectURI.objects.filter(relying_party=value("party")).values_list("uri", flat=True)
)


@dataclass(frozen=True)
class Registration:
    """What is on file about who asks: the party, an address proven to be theirs, the nonce"""

    relying_party: RelyingParty
    return_address: ReturnAddress
    nonce_used: bool  # it gave a token already


def identify(parameters: Parameters) -> Registration:
    """The active relying party of `client_id` and the return address proven by its registered URIs.

    Raises `UntrustedRequestError` (RFC 6749 §4.2.2.1: tell the person, never redirect).
    """
    client_id = usable(parameters, "client_id")
    response_mode = _response_mode(parameters)
    where = "response_uri" if response_mode in POSTED else "redirect_uri"
    uri = usable(parameters, where)
    # One read: the party, all its addresses, and whether the nonce gave it a token before.
    digest = nonce_digest(parameters.get("nonce") or "")
    rows = _by_client_id[where].all(client_id=client_id, nonce_digest=digest)
    party = rows[0].relying_party if rows else None
    if party is None or party.state != RelyingParty.State.ACTIVE:
        raise not_admitted(
            f"client_id must name an active relying party with a {where.replace('_uri', ' URI')}"
        )
    return_address = ReturnAddress.registered(
        uri, [row.uri for row in rows], state=parameters.get("state"), response_mode=response_mode
    )
    return Registration(party, return_address, rows[0].nonce_used)


def _response_mode(parameters: Parameters) -> str:
    """The response mode. If it does not fit the one address that was sent, a mode that does.

    `authorization_request` refuses such a request in any case; this only decides how the error is returned.
    """
    mode, sent = parameters.get("response_mode") or FRAGMENT, parameters.values.keys()
    if mode in POSTED and "redirect_uri" in sent and "response_uri" not in sent:
        return FRAGMENT
    wrong = mode not in RESPONSE_MODES or parameters.problem("response_mode") is not None
    if wrong and "response_uri" in sent and "redirect_uri" not in sent:
        return DIRECT_POST
    return mode


def registered_uris(party: RelyingParty) -> list[str]:
    """Where browsers may carry the party's answers now."""
    return _uris.all(party=party.pk)


def check_return_address(address: ReturnAddress, party: RelyingParty) -> None:
    """Raises `UntrustedRequestError` if the party's answers may not go there any more."""
    if address.posted:
        registered = list(ResponseURI.objects.filter(relying_party=party).values_list("uri", flat=True))
    else:
        registered = registered_uris(party)
    ReturnAddress.registered(address.uri, registered, response_mode=address.response_mode)


def read_request(parameters: Parameters, party: RelyingParty) -> AuthorizationRequest:
    """What is asked, as far as this relying party may ask it now; raises `AuthorizationError`."""
    allowance = Allowance(
        scopes=party.allowed_scopes,
        transaction_data_types=party.allowed_transaction_data_types,
        claims=party.claims_it_may_ask if "dcql_query" in parameters.values else (),
        recipients=public_keys.for_encryption(party.jwks),
        several_queries=party.wire_format != RelyingParty.WireFormat.STRING,
    )
    return authorization_request.parse(parameters, allowance)


def usable(parameters: Parameters, name: str) -> str:
    """A parameter without which nothing can be redirected; raises `UntrustedRequestError`."""
    problem = parameters.problem(name)
    value = parameters.get(name)
    if problem or not value:
        raise mistaken(problem or f"{name} is missing")
    return value


def not_admitted(hint: str) -> UntrustedRequestError:
    """Unknown or suspended: which of the two is between the operators and the application."""
    return UntrustedRequestError(
        _("The application that sent you here is not registered here, or cannot be used at the moment."), hint
    )


def mistaken(hint: str) -> UntrustedRequestError:
    """A mistake that cannot be told at home, because nobody knows where that is."""
    return UntrustedRequestError(_("The application that sent you here made a mistake in its request."), hint)
