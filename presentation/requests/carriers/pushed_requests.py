"""Requests behind a handle: kept a minute, begun again by a reload, answered once (RFC 9126 §4)."""

import secrets
from datetime import datetime, timedelta
from hashlib import sha256

import structlog
from django.utils.translation import gettext_lazy as _

from infra.database.prepared_statements import PreparedInsert, PreparedRead
from infra.sealing import SealError
from presentation.errors import (
    AuthorizationError,
    InvalidRequestUriError,
    ServerError,
    UntrustedRequestError,
)
from presentation.models import PushedRequest
from presentation.requests.client import CarriedRequest, mistaken
from presentation.requests.parameters import Parameters

HANDLE = "urn:ietf:params:oauth:request_uri:"  # and 256 random bits
LIFETIME = timedelta(seconds=60)

log = structlog.get_logger(__name__)

_by_digest = PreparedRead(lambda value: PushedRequest.objects.filter(digest=value("digest")))
_new = PreparedInsert(PushedRequest)


def keep(carried: CarriedRequest, *, client_id: str, now: datetime) -> str:
    """Keep a request that was checked; gives its handle."""
    handle = HANDLE + secrets.token_urlsafe(32)
    row = PushedRequest(
        digest=_digest(handle), client_id=client_id, signed=carried.signed, expires_at=now + LIFETIME
    )
    row.keep(carried.parameters)
    _new.run(row)
    return handle


def recall(handle: str, *, client_id: str, now: datetime) -> CarriedRequest:
    """The request behind a handle of this client; raises UntrustedRequestError when none can begin."""
    row = _by_digest.first(digest=_digest(handle))
    if row is None or row.client_id != client_id:
        raise mistaken("request_uri is no handle of this client")
    if row.used_at:
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
    # Its digest stays with the parameters, so that the answer to them can use the handle up.
    parameters = Parameters({**values, "request_uri": row.digest})
    return CarriedRequest(parameters, signed=row.signed, pushed=True, problem=problem)


def use_up(digest: str, *, now: datetime) -> bool:
    """It is answered, and what was asked is forgotten; whether this was the first answer."""
    still_open = PushedRequest.objects.filter(digest=digest, used_at=None)
    return still_open.update(used_at=now, parameters={}, sealed_transaction_data=None) == 1


def _digest(handle: str) -> str:
    return sha256(handle.encode()).hexdigest()
