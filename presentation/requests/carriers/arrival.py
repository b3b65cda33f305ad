"""How an authorization request arrived: in the address, in a signed object, or pushed ahead. Pure."""

from dataclasses import dataclass

from presentation.errors import AuthorizationError, InvalidRequestError
from presentation.requests.parameters import Parameters


@dataclass(frozen=True)
class Arrival:
    """A request as it counts, wherever it stood, and what was done to keep it from others.

    problem: what is wrong with how it came, for the relying application once its address is proven.
    """

    parameters: Parameters
    signed: bool = False
    pushed: bool = False
    problem: AuthorizationError | None = None

    def check(self, *, requires_signed: bool, requires_pushed: bool) -> None:
        """Raises `AuthorizationError` if it may not be answered, for the way it came (RFC 9101 §10.5)."""
        if self.problem:
            raise self.problem
        if requires_pushed and not self.pushed:
            raise InvalidRequestError("requests of this client must be pushed")
        if requires_signed and not self.signed:
            raise InvalidRequestError("requests of this client must be signed")
