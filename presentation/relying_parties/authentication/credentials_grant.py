"""The client credentials grant (RFC 6749 §4.4): access tokens for relying parties."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import structlog

from infra.limits import Limit
from keys.issuer_key import CANNOT_SIGN
from presentation.machine_errors import MachineError, RefusedRequestError, UnavailableError
from presentation.relying_parties.authentication import access_tokens
from presentation.relying_parties.authentication.authentication import authenticate

log = structlog.get_logger(__name__)

GRANT_TYPE = "client_credentials"
# Every request counts for its address, before any query. It counts for the client only after authentication,
# so that an attacker cannot use up the limit of another client.
PER_ADDRESS = Limit.from_settings("token_requests_of_address")
PER_CLIENT = Limit.from_settings("token_requests_of_client")


def grant(
    form: Mapping[str, str], authorization: str, *, network_address: str, now: datetime
) -> dict[str, Any]:
    """The members of the answer (RFC 6749 §5.1); raises MachineError or LimitReachedError."""
    PER_ADDRESS.take(network_address, now=now)
    if "grant_type" not in form:
        raise MachineError("grant_type is missing.")
    relying_party = authenticate(form, authorization, now=now)
    PER_CLIENT.take(relying_party.client_id, now=now)
    if form["grant_type"] != GRANT_TYPE:
        raise RefusedRequestError(
            "unsupported_grant_type", f"grant_type must be {GRANT_TYPE} or authorization_code."
        )
    scopes = _scopes(form.get("scope", ""), relying_party.grants)
    try:
        return access_tokens.issue(relying_party.client_id, scopes, now=now)
    except CANNOT_SIGN as error:
        log.exception("access_token_not_signed")
        raise UnavailableError from error


def _scopes(asked: str, granted: list[str]) -> list[str]:
    """The granted scopes that the request asks for; all of them if it names none."""
    if not granted:
        no_scope = "This client was granted no scope. Its operator can do that."
        raise RefusedRequestError("unauthorized_client", no_scope)
    chosen = list(dict.fromkeys(asked.split(" "))) if asked else granted
    if not set(chosen) <= set(granted):
        raise RefusedRequestError("invalid_scope", "A scope is unknown or not granted to this client.")
    return chosen
