"""A passage: an open interaction as it stands, and the step that its facts call for next. Reads only."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import Enum, auto
from functools import cached_property

from django.urls import reverse
from django.utils.timezone import localdate

from consent import decisions
from presentation.dcql.evaluation import Selection
from presentation.models import Interaction, RelyingParty
from presentation.requests import answerable, stored_parameters
from presentation.requests.authorization_request import AuthorizationRequest
from presentation.requests.client import read_request
from presentation.requests.parameters import Parameters
from presentation.requests.return_address import ReturnAddress
from wallet import credentials
from wallet.models import Credential, HolderSession

FRESH_FACTOR = timedelta(minutes=5)  # how old a sign-in may be when a payment is asked for


class Step(Enum):
    """What must happen next in an interaction."""

    SIGN_IN = auto()
    ENROLL = auto()
    CONSENT = auto()
    UNAVAILABLE = auto()
    REFUSE = auto()
    ANSWER = auto()


@dataclass(frozen=True)
class Passage:
    """An open interaction with what its row says: the request, and where the answer goes."""

    interaction: Interaction
    return_address: ReturnAddress
    still_registered: bool  # exactly this address, when the interaction was read

    @cached_property
    def parameters(self) -> Parameters:
        """The parameters as they were received; raises `ServerError` when they do not open."""
        with answerable.our_fault():
            return stored_parameters.stored(self.interaction)

    @cached_property
    def request(self) -> AuthorizationRequest:
        """What was asked, as far as this relying party may ask it now; raises `AuthorizationError`."""
        return read_request(self.parameters, self.relying_party)

    @property
    def relying_party(self) -> RelyingParty:
        return self.interaction.relying_party

    def selection(self, credential: Credential, *, today: date) -> Selection | None:
        """What the request comes to for this credential on that day; None when it cannot be answered.

        Raises `AuthorizationError`.
        """
        return answerable.selection(self.request, credential, today=today)


def next_step(passage: Passage, session: HolderSession | None, *, now: datetime) -> Step:
    """What must happen next; asked anew after every detour, from facts only. Raises `AuthorizationError`."""
    consent = passage.interaction.consent
    if consent is not None and consent.decision == consent.Decision.DECLINED:
        return Step.REFUSE
    if session is None or session.wallet.email != passage.request.login_hint:
        return Step.SIGN_IN
    fresh_since = earliest_sign_in(passage)
    if fresh_since is not None and session.signed_in_at < fresh_since:
        return Step.SIGN_IN
    credential = credentials.valid_credential(session.wallet, now=now)
    if credential is None:
        return Step.ENROLL if answerable.by_anyone(passage.request) else Step.UNAVAILABLE
    answerable.require_readable(credential)
    if consent is not None and decisions.granted_for(
        consent, request_hash=passage.interaction.request_hash, wallet=session.wallet
    ):
        return Step.ANSWER
    if consent is None and passage.selection(credential, today=localdate(now)) is None:
        return Step.UNAVAILABLE
    if consent is not None and consent.decision == consent.Decision.ASKED:
        answerable.require_shown(consent)
    return Step.CONSENT


def earliest_sign_in(passage: Passage) -> datetime | None:
    """A payment asks for a factor shown for it: shortly before the request, or since. Else None."""
    consequential = any(value.consequential for value in passage.request.transaction_data)
    return passage.interaction.created_at - FRESH_FACTOR if consequential else None


def path_of(interaction: Interaction) -> str:
    """The hub: where the browser comes back to after every detour."""
    return reverse("resume", args=[interaction.id])
