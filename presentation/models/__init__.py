"""The models of relying parties, their secrets, their requests, and posted answers."""

from presentation.relying_parties.models.addresses import RedirectURI, ResponseURI
from presentation.relying_parties.models.clients import (
    CertifiedClientID,
    ClientSecret,
    RelyingPartyEvent,
    UsedAssertion,
)
from presentation.relying_parties.models.relying_parties import RelyingParty
from presentation.requests.models import AuthorizationCode, Delivery, Interaction, PushedRequest
from presentation.scopes.models import Scope
from presentation.statistics.models import RequestCount
