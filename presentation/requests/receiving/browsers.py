"""Requests that a browser brings: in its address, by `request` or `request_uri` (RFC 9101, RFC 9126)."""

from dataclasses import replace
from datetime import datetime

from django.utils.translation import gettext_lazy as _

from presentation.errors import (
    AuthorizationError,
    InvalidRequestError,
    InvalidRequestObjectError,
    InvalidRequestUriMethodError,
    UntrustedRequestError,
)
from presentation.models import CertifiedClientID
from presentation.parameters import Parameters
from presentation.relying_parties.authentication.fetched_keys import SOON, KeysUnderWayError
from presentation.requests.client import (
    ReceivedRequest,
    active_party,
    mistaken,
    read_for,
    usable,
)
from presentation.requests.fast_path.reading import RequestRows
from presentation.requests.receiving import pushed_requests, signed_requests
from presentation.requests.receiving.request_object import RequestObjectError

GET, POST = "get", "post"  # values of request_uri_method


def receive(
    parameters: Parameters, *, browser: str, session_digest: str, network_address: str | None, now: datetime
) -> tuple[ReceivedRequest, RequestRows]:
    """The request that a browser brings, and all rows that it needs.

    With the parameter `request` or `request_uri` of the others only `client_id` and `request_uri_method`
    count. browser, session_digest: as for `read_request_rows`. network_address: that limits count by. Raises
    `UntrustedRequestError`, and `InteractionGoneError` if the request was answered in this browser.
    """
    object_parameters = parameters.request_object_parameters()
    client_id = usable(parameters, "client_id")
    visitor = {"browser": browser, "session_digest": session_digest}
    if not object_parameters:
        received = ReceivedRequest(parameters)
        return received, read_for(received, client_id, **visitor, now=now)
    if len(object_parameters) > 1:
        raise mistaken("request and request_uri must not be sent together")
    (passed_by,) = object_parameters
    value = usable(parameters, passed_by)
    if passed_by == "request_uri" and value.startswith(pushed_requests.HANDLE):
        received, rows = pushed_requests.load(value, client_id=client_id, **visitor, now=now)
    else:
        received = _signed(parameters, passed_by, client_id, network_address=network_address, now=now)
        signer = received.relying_party.client_id if received.relying_party else client_id
        rows = read_for(received, signer, **visitor, now=now)
    return replace(received, problem=received.problem or _method_problem(parameters, passed_by)), rows


def _signed(
    parameters: Parameters, passed_by: str, client_id: str, *, network_address: str | None, now: datetime
) -> ReceivedRequest:
    """The request in a signed object of this client; raises `UntrustedRequestError`."""
    proof = CertifiedClientID.of_active(client_id)
    party = proof.relying_party if proof else active_party(client_id)
    value = parameters.values[passed_by]
    try:
        if passed_by == "request":
            return signed_requests.sent_along(value, party, proof, now=now)
        post = parameters.values.get("request_uri_method") == POST
        return signed_requests.published_at(
            value, party, proof, post=post, network_address=network_address, now=now
        )
    except KeysUnderWayError as error:
        raise UntrustedRequestError(
            _("The application that sent you here is being checked. Please try again in a few seconds."),
            "the keys at jwks_uri are being fetched just now",
            status=503,
            seconds=SOON,
        ) from error
    except RequestObjectError as error:
        if error.verified is None:
            raise mistaken(str(error)) from error
        problem = InvalidRequestObjectError(str(error))
        return ReceivedRequest(error.verified, party, signed=True, problem=problem)


def _method_problem(parameters: Parameters, passed_by: str) -> AuthorizationError | None:
    """The error about `request_uri_method`, if any; returned with the request, which holds the address."""
    name = "request_uri_method"
    method, unusable = parameters.values.get(name), parameters.problems.get(name)
    if passed_by != "request_uri" and (method or unusable):
        return InvalidRequestError("request_uri_method must not be sent without request_uri")
    if unusable or method not in (None, GET, POST):
        return InvalidRequestUriMethodError(unusable or "request_uri_method must be get or post")
    return None
