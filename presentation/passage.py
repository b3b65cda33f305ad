"""A passage: an open interaction as it stands, and the step that its facts call for next. Reads only."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto
from functools import cached_property

from django.urls import reverse

from consent import decisions
from presentation import authorization_request
from presentation.authorization_request import AuthorizationRequest
from presentation.models import Interaction, RelyingParty
from presentation.parameters import Parameters
from presentation.return_address import ReturnAddress
from wallet import credentials
from wallet.models import HolderSession

FRESH_FACTOR = timedelta(minutes=5)  # how old a sign-in may be when a payment is asked for


class Step(Enum):
    """What must happen next in an interaction."""

    SIGN_IN = auto()
    ENROLL = auto()
    CONSENT = auto()
    REFUSE = auto()
    ANSWER = auto()


@dataclass(frozen=True)
class Passage:
    """An open interaction with what its row says: the request, and where the answer goes."""

    interaction: Interaction
    return_address: ReturnAddress
    still_registered: bool  # exactly this address, when the interaction was read

    @cached_property
    def request(self) -> AuthorizationRequest:
        """What was asked, as far as this relying party may ask it now; raises `AuthorizationError`."""
        return authorization_request.parse(
            Parameters(self.interaction.parameters),
            allowed_scopes=self.relying_party.allowed_scopes,
            allowed_transaction_data_types=self.relying_party.allowed_transaction_data_types,
        )

    @property
    def relying_party(self) -> RelyingParty:
        return self.interaction.relying_party


def next_step(passage: Passage, session: HolderSession | None, *, now: datetime) -> Step:
    """What must happen next; asked anew after every detour, from facts only."""
    consent = passage.interaction.consent
    if consent is not None and consent.decision == consent.Decision.DECLINED:
        return Step.REFUSE
    if session is None or session.wallet.email != passage.request.login_hint:
        return Step.SIGN_IN
    fresh_since = earliest_sign_in(passage)
    if fresh_since is not None and session.signed_in_at < fresh_since:
        return Step.SIGN_IN
    if credentials.valid_credential(session.wallet, now=now) is None:
        return Step.ENROLL
    if consent is not None and decisions.granted_for(
        consent, request_hash=passage.interaction.request_hash, wallet=session.wallet
    ):
        return Step.ANSWER
    return Step.CONSENT


def earliest_sign_in(passage: Passage) -> datetime | None:
    """A payment asks for a factor shown for it: shortly before the request, or since. Else None."""
    consequential = any(value.consequential for value in passage.request.transaction_data)
    return passage.interaction.created_at - FRESH_FACTOR if consequential else None


def path_of(interaction: Interaction) -> str:
    """The hub: where the browser comes back to after every detour."""
    return reverse("resume", args=[interaction.id])
