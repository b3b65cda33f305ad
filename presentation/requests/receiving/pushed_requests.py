"""Pushed requests (RFC 9126): kept for a minute behind a handle, opened by any reload, answered once."""

import secrets
from dataclasses import replace
from datetime import datetime, timedelta

import structlog
from django.utils.translation import gettext_lazy as _

from infra.sealing import SealError, sha256_hex
from presentation.errors import (
    AuthorizationError,
    InvalidRequestUriError,
    ServerError,
    UntrustedRequestError,
)
from presentation.models import PushedRequest
from presentation.parameters import Parameters
from presentation.requests import interactions
from presentation.requests.client import Client, ReceivedRequest, mistaken
from presentation.requests.fast_path.reading import RequestRows, read_request_rows
from presentation.requests.interactions import InteractionGoneError

HANDLE = "urn:ietf:params:oauth:request_uri:"  # followed by 256 random bits
LIFETIME = timedelta(seconds=60)

log = structlog.get_logger(__name__)


def new_handle() -> str:
    """A handle that nobody can guess."""
    return HANDLE + secrets.token_urlsafe(32)


def store(received: ReceivedRequest, handle: str, client: Client, *, now: datetime) -> None:
    """Stores the request behind the handle, of which only the digest is stored."""
    row = PushedRequest(
        digest=sha256_hex(handle),
        client_id=client.relying_party.client_id,
        nonce_digest=client.nonce_digest,
        request_hash=client.request_hash,
        signed=received.signed,
        expires_at=now + LIFETIME,
    )
    row.set_parameters(received.parameters)
    row.save(force_insert=True)


def load(
    handle: str, *, client_id: str, browser: str, session_digest: str, now: datetime
) -> tuple[ReceivedRequest, RequestRows]:
    """The request behind a handle of this client, and all rows that it needs.

    browser, session_digest: as for `read_request_rows`. Raises `UntrustedRequestError` if the handle
    is unknown or used, `InteractionGoneError` if it was used in this browser.
    """
    rows = read_request_rows(
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
    received = ReceivedRequest(Parameters(values), party, signed=row.signed, pushed=True, problem=problem)
    return with_handle(received, handle), rows


def use_up(digest: str, *, now: datetime) -> bool:
    """Marks the handle as used and empties the parameters; returns whether this was the first answer."""
    unused = PushedRequest.objects.filter(digest=digest, used_at=None)
    return unused.update(used_at=now, parameters={}, sealed_transaction_data=None) == 1


def with_handle(received: ReceivedRequest, handle: str) -> ReceivedRequest:
    """The request with the digest of its handle, by which the answer marks the handle as used."""
    values = {**received.parameters.values, "request_uri": sha256_hex(handle)}
    return replace(received, parameters=replace(received.parameters, values=values))
