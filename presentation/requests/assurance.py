"""How well an identity must be verified for a request: the operators' minimum, and the query's values.

A holder below it is sent to their wallet again, to a provider that reaches it, if one is configured.
"""

from django.utils.timezone import localdate

from presentation.dcql.evaluation import Offer, select_for_anyone
from presentation.dcql.queries import Query
from presentation.models import RelyingParty
from presentation.requests.authorization_request import AuthorizationRequest
from wallet.claims import CLAIMS, values_of_verification
from wallet.credentials import credential_type, plain_claims
from wallet.evidence import Assurance, Verification, at_least
from wallet.providers import registry


def is_demanded(request: AuthorizationRequest, party: RelyingParty) -> bool:
    """Whether not every verified identity will do."""
    asks = (claim for query in request.query.in_our_format for claim in query.claims)
    return bool(party.minimum_assurance) or any(claim.path[0] == "verification" for claim in asks)


def suffices(request: AuthorizationRequest, party: RelyingParty, found: Assurance | None) -> bool:
    """Whether an identity verified with this assurance will do; None if that was not written down."""
    if not is_demanded(request, party):
        return True
    return found is not None and _reaches(party, found) and _is_accepted(request.query, found)


def reachable(request: AuthorizationRequest, party: RelyingParty) -> tuple[Assurance, ...]:
    """What the configured providers can reach and the request accepts; empty also if nothing is demanded."""
    if not is_demanded(request, party):
        return ()
    offered = dict.fromkeys(each for provider in registry.offered().values() for each in provider.assurances)
    return tuple(each for each in offered if suffices(request, party, each))


def _is_accepted(query: Query, found: Assurance) -> bool:
    """Whether a holder could match the query who was verified with this assurance today."""
    known = values_of_verification(Verification(found, localdate(), "in_person"))
    authorities = {each for asked in query.credentials for each in asked.authority_key_ids or ()}
    offer = Offer(credential_type(), authorities, CLAIMS, plain_claims().keys())
    return select_for_anyone(query, offer, known) is not None


def _reaches(party: RelyingParty, found: Assurance) -> bool:
    minimums = [Assurance.parse(text) for text in party.minimum_assurance]
    return not minimums or any(at_least(minimum, found) for minimum in minimums)
