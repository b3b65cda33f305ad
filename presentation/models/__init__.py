"""Relying parties, what they prove themselves with, what they asked, and the answers on their way."""

from presentation.models.addresses import RedirectURI, ResponseURI
from presentation.models.clients import ClientSecret, UsedAssertion
from presentation.models.deliveries import Delivery
from presentation.models.history import RelyingPartyEvent
from presentation.models.interactions import Interaction
from presentation.models.relying_parties import RelyingParty
from presentation.models.requests import PushedRequest

__all__ = [
    "ClientSecret",
    "Delivery",
    "Interaction",
    "PushedRequest",
    "RedirectURI",
    "RelyingParty",
    "RelyingPartyEvent",
    "ResponseURI",
    "UsedAssertion",
]
