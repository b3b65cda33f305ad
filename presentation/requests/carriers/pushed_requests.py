"""Pushed requests (RFC 9126): kept for a minute behind a handle, opened by any reload, answered once."""

import secrets
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.utils.translation import gettext_lazy as _

from infra.limits import Limit
from infra.sealing import SealError, sha256_hex
from presentation.errors import (
    AuthorizationError,
    InvalidRequestError,
    InvalidRequestUriError,
    ServerError,
    UntrustedRequestError,
)
from presentation.fast_path.reading import RequestRows, read_request
from presentation.machine_errors import InsufficientScopeError, MachineError, UnavailableError
from presentation.models import PushedRequest, RelyingParty
from presentation.relying_parties.authentication.authentication import authenticate
from presentation.relying_parties.authentication.bearer import access_by
from presentation.relying_parties.authentication.fetched_keys import SOON, KeysUnderWayError
from presentation.relying_parties.metadata import grants
from presentation.requests import interactions
from presentation.requests.authorization_request import parse
from presentation.requests.carriers import signed_requests
from presentation.requests.carriers.request_object import RequestObjectError
from presentation.requests.client import CarriedRequest, Client, identify, mistaken, read_for
from presentation.requests.interactions import NONCE_USED, InteractionGoneError
from presentation.requests.parameters import LIMITS, Parameters
from presentation.scopes import catalogue

HANDLE = "urn:ietf:params:oauth:request_uri:"  # followed by 256 random bits
LIFETIME = timedelta(seconds=60)
# A relying party may push every request of every holder from one address, so this is four times the limit
# for access tokens.
PER_ADDRESS = Limit.from_settings("pushes_of_address")
PER_CLIENT = Limit.from_settings("pushes_of_client")
_OF_A_CLIENT = {"client_secret", "client_assertion", "client_assertion_type"}

log = structlog.get_logger(__name__)


def push(
    form: Mapping[str, str], authorization: str, *, network_address: str, now: datetime
) -> dict[str, Any]:
    """Keeps the request and returns the members of the response (RFC 9126 §2.2).

    Raises MachineError or LimitReachedError. The errors of the authorization endpoint are returned as JSON,
    because nothing is redirected from here.
    """
    PER_ADDRESS.take(network_address, now=now)
    party = _authenticated(form, authorization, now=now)
    PER_CLIENT.take(party.client_id, now=now)
    handle = HANDLE + secrets.token_urlsafe(32)
    try:
        carried = _with_handle(_carried(form, party, now=now), handle)
        client = _checked(carried, party, now=now)
    except UntrustedRequestError as error:
        raise MachineError(error.hint) from error
    except RequestObjectError as error:
        raise MachineError(str(error), error="invalid_request_object") from error
    except KeysUnderWayError as error:
        raise UnavailableError(seconds=SOON) from error
    except AuthorizationError as error:
        raise MachineError(error.description, error=error.error) from error
    row = PushedRequest(
        digest=sha256_hex(handle),
        client_id=party.client_id,
        nonce_digest=client.nonce_digest,
        request_hash=client.request_hash,
        signed=carried.signed,
        expires_at=now + LIFETIME,
    )
    row.keep(carried.parameters)
    row.save(force_insert=True)
    log.info("pushed", client_id=party.client_id)
    return {"request_uri": handle, "expires_in": int(LIFETIME.total_seconds())}


def recall(
    handle: str, *, client_id: str, browser: str, session_digest: str, now: datetime
) -> tuple[CarriedRequest, RequestRows]:
    """The request behind a handle of this client, and all rows that it needs.

    browser, session_digest: as for `read_request`. Raises `UntrustedRequestError` if the handle is unknown or
    used, `InteractionGoneError` if it was used in this browser.
    """
    rows = read_request(
        client_id,
        nonce_digest="",
        request_hash="",
        handle_digest=sha256_hex(handle),
        browser=browser,
        session_digest=session_digest,
        now=now,
    )
    row, party = rows.pushed, rows.relying_party
    if row is None or party is None or row.client_id != client_id:
        raise mistaken("request_uri is no handle of this client")
    if row.used_at:
        if answered := interactions.find(rows.begun):
            raise InteractionGoneError(answered, own=True)
        raise UntrustedRequestError(
            _("This request was answered already. Go back to the application and start again."),
            "request_uri was used; every request is pushed anew",
        )
    problem: AuthorizationError | None = None
    values = row.parameters
    if row.expires_at <= now:
        problem = InvalidRequestUriError("request_uri has expired")
    else:
        try:
            values = row.as_received().values
        except SealError:
            log.exception("request_not_evaluated")
            problem = ServerError()
    carried = CarriedRequest(Parameters(values), party, signed=row.signed, pushed=True, problem=problem)
    return _with_handle(carried, handle), rows


def use_up(digest: str, *, now: datetime) -> bool:
    """Marks the handle as used and empties the parameters; returns whether this was the first answer."""
    unused = PushedRequest.objects.filter(digest=digest, used_at=None)
    return unused.update(used_at=now, parameters={}, sealed_transaction_data=None) == 1


def _with_handle(carried: CarriedRequest, handle: str) -> CarriedRequest:
    """The request with the digest of its handle, by which the answer marks the handle as used."""
    values = {**carried.parameters.values, "request_uri": sha256_hex(handle)}
    return replace(carried, parameters=replace(carried.parameters, values=values))


def _authenticated(form: Mapping[str, str], authorization: str, *, now: datetime) -> RelyingParty:
    """The relying party, authenticated as at the token endpoint or by an access token for pushing."""
    scheme, _, token = authorization.partition(" ")
    if scheme.lower() != "bearer":
        return authenticate(form, authorization, now=now)
    if _OF_A_CLIENT & form.keys():
        raise MachineError("Use one method of client authentication, not several.")
    access = access_by(token, now=now)
    if grants.PUSH not in access.grants:
        raise InsufficientScopeError(grants.PUSH)
    return access.relying_party


def _carried(form: Mapping[str, str], party: RelyingParty, *, now: datetime) -> CarriedRequest:
    """The request in the form, or in the signed object that the form holds instead (RFC 9126 §3)."""
    parameters = Parameters.of({name: [value] for name, value in form.items() if name in LIMITS})
    if problem := parameters.first_problem():
        raise InvalidRequestError(problem)
    if "request_uri" in form:
        raise InvalidRequestError("request_uri must not be pushed")
    if form.get("client_id", party.client_id) != party.client_id:
        raise InvalidRequestError("client_id differs from that of the authenticated client")
    if "request" in form:
        return signed_requests.sent_along(form["request"], party, now=now)
    return CarriedRequest(parameters, party)


def _checked(carried: CarriedRequest, party: RelyingParty, *, now: datetime) -> Client:
    """The client; raises what the authorization endpoint would raise before the holder is involved."""
    client = identify(carried, read_for(carried, party.client_id, now=now))
    carried.check(requires_signed=party.requires_signed_requests, requires_pushed=False)
    parse(carried.parameters, party, catalogue.at(client.scopes_stamp))
    if client.nonce_used:
        raise InvalidRequestError(NONCE_USED)
    return client
