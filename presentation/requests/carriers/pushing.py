"""A relying application pushes a request ahead of the browser (RFC 9126 §2), and is told of every mistake."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import structlog

from infra.limits import Limit
from presentation.errors import AuthorizationError, InvalidRequestError, UntrustedRequestError
from presentation.machine_errors import (
    InsufficientScopeError,
    MalformedRequestError,
    RefusedRequestError,
    UnavailableError,
)
from presentation.models import RelyingParty
from presentation.relying_parties.authentication.authentication import authenticate
from presentation.relying_parties.authentication.bearer import access_by
from presentation.relying_parties.authentication.fetched_keys import SOON, KeysUnderWayError
from presentation.relying_parties.metadata import grants
from presentation.requests.carriers import pushed_requests, signed_requests
from presentation.requests.carriers.request_object import RequestObjectError
from presentation.requests.client import CarriedRequest, identify
from presentation.requests.interactions import NONCE_USED, read_request
from presentation.requests.parameters import LIMITS, Parameters

log = structlog.get_logger(__name__)

# Every request of every holder may be pushed, from one address: ten times as often as access tokens.
PER_ADDRESS = Limit("pushes_of_address", most=1200, window=timedelta(minutes=1))
PER_CLIENT = Limit("pushes_of_client", most=1200, window=timedelta(minutes=1))
_OF_A_CLIENT = {"client_secret", "client_assertion", "client_assertion_type"}


def push(form: Mapping[str, str], authorization: str, *, address: str, now: datetime) -> dict[str, Any]:
    """The members of the answer (RFC 9126 §2.2); raises MachineError or LimitReachedError.

    Nothing is redirected from here, so the authorization endpoint's errors are told as JSON.
    """
    PER_ADDRESS.take(address, now=now)
    party = _authenticated(form, authorization, now=now)
    PER_CLIENT.take(party.client_id, now=now)
    try:
        carried = _carried(form, party, now=now)
        _check(carried, party)
    except UntrustedRequestError as error:
        raise MalformedRequestError(error.hint) from error
    except RequestObjectError as error:
        raise RefusedRequestError("invalid_request_object", str(error)) from error
    except KeysUnderWayError as error:
        raise UnavailableError(seconds=SOON) from error
    except AuthorizationError as error:
        raise RefusedRequestError(error.error, error.description) from error
    handle = pushed_requests.keep(carried, client_id=party.client_id, now=now)
    log.info("pushed", client_id=party.client_id)
    return {"request_uri": handle, "expires_in": int(pushed_requests.LIFETIME.total_seconds())}


def _authenticated(form: Mapping[str, str], authorization: str, *, now: datetime) -> RelyingParty:
    """Authenticated as at the token endpoint, or by an access token that is good for pushing."""
    scheme, _, token = authorization.partition(" ")
    if scheme.lower() != "bearer":
        return authenticate(form, authorization, now=now)
    if _OF_A_CLIENT & form.keys():
        raise MalformedRequestError("Use one method of client authentication, not several.")
    access = access_by(token, now=now)
    if grants.PUSH not in access.grants:
        raise InsufficientScopeError(grants.PUSH)
    return access.relying_party


def _carried(form: Mapping[str, str], party: RelyingParty, *, now: datetime) -> CarriedRequest:
    """The request in the form, or in the signed object that stands there in its place (RFC 9126 §3)."""
    parameters = Parameters.of({name: [value] for name, value in form.items() if name in LIMITS})
    if problem := parameters.first_problem():
        raise InvalidRequestError(problem)
    if "request_uri" in form:
        raise InvalidRequestError("request_uri must not be pushed")
    if form.get("client_id", party.client_id) != party.client_id:
        raise InvalidRequestError("client_id is another one than the client that authenticated")
    if "request" in form:
        return signed_requests.sent_along(form["request"], party, now=now)
    return CarriedRequest(parameters, party)


def _check(carried: CarriedRequest, party: RelyingParty) -> None:
    """What the authorization endpoint checks before a person is involved, so that a mistake is told here."""
    client = identify(carried)
    carried.check(requires_signed=party.requires_signed_requests, requires_pushed=False)
    read_request(carried.parameters, party)
    if client.nonce_used:
        raise InvalidRequestError(NONCE_USED)
