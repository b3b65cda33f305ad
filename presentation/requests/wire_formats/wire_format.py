"""What a wire format decides, and what its answers are made of."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from presentation.dcql.evaluation import Selection
from presentation.errors import AuthorizationError, InvalidRequestError
from presentation.issuer import issuer
from presentation.models import AuthorizationCode, Interaction, RelyingParty
from presentation.parameters import Parameters
from presentation.requests.authorization_request import AuthorizationRequest
from presentation.scopes.records import Scopes
from wallet.models import HolderSession


@dataclass(frozen=True, repr=False)  # no repr: it would show the presentation in logs
class Presented:
    """What an answer is made of.

    presentations: one for each part of the selection, in its order. subject: the number by which the relying
    party recognises the holder; empty if it may not. session: that in which the holder agreed.
    """

    interaction: Interaction
    request: AuthorizationRequest
    selection: Selection
    presentations: Sequence[str]
    subject: str
    session: HolderSession | None


@dataclass(frozen=True, repr=False)
class NewCode:
    """A code behind which the presentation waits. row: not stored yet. until: when nobody can collect it."""

    row: AuthorizationCode
    until: datetime


@dataclass(frozen=True, repr=False)
class Answer:
    """The parameters of an answer. code: to be stored with the end of the interaction."""

    parameters: dict[str, str]
    code: NewCode | None = None


class WireFormat(ABC):
    """How requests and answers of a registration look.

    redirect_mode: how the browser carries an answer where the request does not say it. collected: whether
    the relying party collects the presentation later, with a code. takes_posts: whether a browser may post a
    request.
    """

    redirect_mode: str
    collected = False
    takes_posts = False

    def parse_request(
        self, parameters: Parameters, party: RelyingParty, scopes: Scopes
    ) -> AuthorizationRequest:
        """The request in the parameters; raises the AuthorizationError of the first rule that it breaks.

        party: whose registration says what it may ask for. scopes: what scopes mean.
        """
        if problem := parameters.first_problem():
            raise InvalidRequestError(problem)
        if parameters.values.get("request_uri_method"):
            raise InvalidRequestError("request_uri_method must not be sent without request_uri")
        return self.read_parameters(parameters, party, scopes)

    @abstractmethod
    def read_parameters(
        self, parameters: Parameters, party: RelyingParty, scopes: Scopes
    ) -> AuthorizationRequest:
        """As `parse_request`, for parameters that can all be used."""

    @abstractmethod
    def answer(self, presented: Presented, *, now: datetime) -> Answer:
        """The answer with what was presented; raises AuthorizationError."""

    def error(self, error: AuthorizationError) -> dict[str, str]:
        """The parameters of an error (RFC 6749 §4.2.2.1), with the issuer."""
        return error.as_parameters() | issuer()
