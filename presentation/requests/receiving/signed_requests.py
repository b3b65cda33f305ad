"""Requests in signed objects: sent as `request`, or fetched from a `request_uri` (RFC 9101 §5).

With `request_uri_method=post` the service posts a nonce, and the object must repeat it (OpenID4VP 1.0 §5.10).
"""

import secrets
from datetime import datetime
from functools import partial
from urllib.parse import urlencode

import structlog
from django.conf import settings
from django.utils.translation import gettext_lazy as _

from infra.limits import ClientLimit, LimitReachedError
from infra.outbound.calls import Outbound, OutboundError, Response
from infra.waiting import NoThreadFreeError, waiting_for
from keys.certificates.path import PathError
from keys.jws import take_apart
from presentation.errors import UntrustedRequestError
from presentation.metadata import discovery_document
from presentation.models import CertifiedClientID, RelyingParty
from presentation.parameters import LIMITS
from presentation.relying_parties.authentication.authentication import keys_of
from presentation.relying_parties.authentication.signed_jwt import ClientJwtError
from presentation.relying_parties.metadata import certificates, request_uris
from presentation.relying_parties.metadata.public_keys import ClientKeys
from presentation.requests.client import ReceivedRequest, mistaken
from presentation.requests.receiving import request_object
from presentation.requests.receiving.request_object import RequestObjectError
from presentation.scopes import catalogue

log = structlog.get_logger(__name__)

outbound = Outbound(loopback=settings.LOOPBACK_CALLS)
# Any browser can cause a fetch. The limit per client address is generous, because a company may share one.
FETCHES = ClientLimit.from_settings("request-objects-per-client")


def published_at(
    uri: str,
    party: RelyingParty,
    proof: CertifiedClientID | None = None,
    *,
    post: bool,
    network_address: str | None,
    now: datetime,
) -> ReceivedRequest:
    """The request in the object that the relying party returns at `uri`.

    post: post a nonce there instead of a plain GET. network_address: that limits count by. Raises
    RequestObjectError, or UntrustedRequestError when the object must not or cannot be fetched.
    """
    if not request_uris.is_registered(uri, party.request_uri_prefix, loopback=settings.LOOPBACK_CALLS):
        raise mistaken("request_uri must be a pushed request, or at the address registered for signed ones")
    wallet_nonce = secrets.token_urlsafe(32) if post else None
    try:
        FETCHES.take(network_address, now=now)
        with waiting_for(party.pk):
            answer = _fetch(uri, wallet_nonce)
    except (LimitReachedError, OutboundError) as error:
        log.warning("request_object_not_fetched", client_id=party.client_id, reason=str(error))
        raise _not_fetched(error, now) from error
    if answer.status != 200 or answer.content_type != request_object.MEDIA_TYPE:
        raise mistaken(f"request_uri must answer with status 200 and {request_object.MEDIA_TYPE}")
    text = answer.body.decode("ascii", errors="replace").strip()
    return sent_along(text, party, proof, now=now, wallet_nonce=wallet_nonce)


def _not_fetched(error: LimitReachedError | OutboundError, now: datetime) -> UntrustedRequestError:
    reason = _("We could not get the request of the application that sent you here. Please try again later.")
    hint = f"request_uri could not be fetched: {error}"
    if isinstance(error, LimitReachedError):
        return UntrustedRequestError(reason, hint, status=429, seconds=int(error.retry_after(now)))
    if isinstance(error, NoThreadFreeError):
        return UntrustedRequestError(reason, hint, status=503, seconds=1)
    return UntrustedRequestError(reason, hint)


def _fetch(uri: str, wallet_nonce: str | None) -> Response:
    if wallet_nonce is None:
        return outbound.get(uri, accept=request_object.MEDIA_TYPE)
    fields = {
        "wallet_nonce": wallet_nonce,
        "wallet_metadata": discovery_document(catalogue.remembered()).decode(),
    }
    return outbound.post(
        uri,
        urlencode(fields).encode(),
        content_type="application/x-www-form-urlencoded",
        headers={"Accept": request_object.MEDIA_TYPE},
    )


def sent_along(
    text: str,
    party: RelyingParty,
    proof: CertifiedClientID | None = None,
    *,
    now: datetime,
    wallet_nonce: str | None = None,
) -> ReceivedRequest:
    """The request in the object `text`, signed by this active relying party.

    proof: set if a certificate proves who it is. wallet_nonce: the nonce that the object must repeat, if one
    was posted. Raises RequestObjectError.
    """
    if len(text) > LIMITS["request"]:
        raise RequestObjectError("is too long")
    parameters = request_object.read(
        text,
        client_id=proof.client_id if proof else party.client_id,
        find_keys=partial(_certified_key, text, proof, now) if proof else partial(keys_of, party),
        issuer=settings.BASE_URL,
        now=now,
        # A client that may send unsigned requests has none with an end, so an end would add nothing.
        needs_end=party.requires_signed_requests and not party.may_omit_exp,
        wallet_nonce=wallet_nonce,
    )
    return ReceivedRequest(parameters, party, signed=True)


def _certified_key(text: str, proof: CertifiedClientID, now: datetime, kid: str | None) -> ClientKeys:
    """The key of the certificate in the header of the object, whatever it calls the key."""
    facts = {"client_id": proof.client_id, "registered": proof.certificates}
    try:
        return {kid or "": certificates.key_of(take_apart(text).header.get("x5c"), **facts, now=now)}
    except PathError as error:
        raise ClientJwtError(f"is refused: {error}") from None
