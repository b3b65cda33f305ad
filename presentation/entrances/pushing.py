"""Stages of a pushed request (RFC 9126 §2): the client is authenticated, its request checked and kept."""

from typing import Any

import structlog

from infra.limits import ClientLimit, Limit
from presentation.entrances.context import PushContext
from presentation.errors import AuthorizationError, InvalidRequestError, UntrustedRequestError
from presentation.machine_errors import InsufficientScopeError, MachineError, UnavailableError
from presentation.parameters import LIMITS, Parameters
from presentation.relying_parties.authentication.authentication import authenticate
from presentation.relying_parties.authentication.bearer import access_by, only_token
from presentation.relying_parties.authentication.fetched_keys import SOON, KeysUnderWayError
from presentation.relying_parties.metadata import grants
from presentation.requests import interactions
from presentation.requests.client import ReceivedRequest, identify, read_for
from presentation.requests.receiving import pushed_requests, signed_requests
from presentation.requests.receiving.request_object import RequestObjectError
from presentation.scopes import catalogue

# A relying party may push every request of every holder from one address, so this is four times the limit
# for access tokens.
PER_CLIENT_ADDRESS = ClientLimit.from_settings("pushes-per-client")
PER_RELYING_PARTY = Limit.from_settings("pushes-per-relying-party")
REFUSALS = (AuthorizationError, UntrustedRequestError, RequestObjectError, KeysUnderWayError)
_OF_A_CLIENT = {"client_secret", "client_assertion", "client_assertion_type"}

log = structlog.get_logger(__name__)


def count_address(context: PushContext) -> None:
    """Limits the pushes of a network address."""
    PER_CLIENT_ADDRESS.take(context.network_address, now=context.now)


def authenticate_client(context: PushContext) -> None:
    """Authenticates the relying party as at the token endpoint, or by an access token for pushing."""
    form, authorization, now = context.form, context.authorization, context.now
    if authorization.partition(" ")[0].lower() != "bearer":
        context.party = authenticate(form, authorization, now=now)
        return
    if _OF_A_CLIENT & form.keys():
        raise MachineError("Use one method of client authentication, not several.")
    access = access_by(only_token(authorization, form=form), now=now)
    if grants.PUSH not in access.grants:
        raise InsufficientScopeError(grants.PUSH)
    context.party = access.relying_party


def count_client(context: PushContext) -> None:
    """Limits the pushes of a client."""
    PER_RELYING_PARTY.take(context.party.client_id, now=context.now)


def read_pushed_request(context: PushContext) -> None:
    """Reads the request in the form, or in the signed object that the form holds instead (RFC 9126 §3)."""
    form, party = context.form, context.party
    parameters = Parameters.of({name: [value] for name, value in form.items() if name in LIMITS})
    if problem := parameters.first_problem():
        raise InvalidRequestError(problem)
    if "request_uri" in form:
        raise InvalidRequestError("request_uri must not be pushed")
    if form.get("client_id", party.client_id) != party.client_id:
        raise InvalidRequestError("client_id differs from that of the authenticated client")
    received = ReceivedRequest(parameters, party)
    if "request" in form:
        received = signed_requests.sent_along(form["request"], party, now=context.now)
    context.handle = pushed_requests.new_handle()
    context.received = pushed_requests.with_handle(received, context.handle)


def check_request(context: PushContext) -> None:
    """Checks the client, the address and the request, as the authorization endpoint will do again."""
    received = context.received
    context.client = identify(received, read_for(received, context.party.client_id, now=context.now))
    scopes = catalogue.at(context.client.scopes_stamp)
    interactions.validated_request(received, context.client, scopes, requires_pushed=False)


def keep_request(context: PushContext) -> dict[str, Any]:
    """Stores the request; the members of the response (RFC 9126 §2.2)."""
    pushed_requests.store(context.received, context.handle, context.client, now=context.now)
    log.info("pushed", client_id=context.party.client_id)
    return {"request_uri": context.handle, "expires_in": int(pushed_requests.LIFETIME.total_seconds())}


def as_json(refusal: Exception) -> MachineError:
    """One of REFUSALS as an error for machines, because nothing is redirected from here."""
    match refusal:
        case UntrustedRequestError():
            return MachineError(refusal.hint)
        case RequestObjectError():
            return MachineError(str(refusal), error="invalid_request_object")
        case KeysUnderWayError():
            return UnavailableError(seconds=SOON)
        case AuthorizationError():
            return MachineError(refusal.description, error=refusal.error)
    raise refusal
