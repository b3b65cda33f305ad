"""Stages of the exchange of a code (OpenID Connect Core 1.0 §3.1.3): the client, its code, its tokens."""

import secrets
from typing import Any

import structlog

from infra.limits import ClientLimit, Limit
from presentation.entrances.context import ExchangeContext
from presentation.relying_parties.authentication.authentication import authenticate
from presentation.requests.wire_formats import codes

PER_CLIENT_ADDRESS = ClientLimit.from_settings("code-exchanges-per-client")
PER_RELYING_PARTY = Limit.from_settings("code-exchanges-per-relying-party")

log = structlog.get_logger(__name__)


def count_address(context: ExchangeContext) -> None:
    """Limits the exchanges of a network address."""
    PER_CLIENT_ADDRESS.take(context.network_address, now=context.now)


def authenticate_client(context: ExchangeContext) -> None:
    """Authenticates the relying party (RFC 6749 §2.3, RFC 7523 §2.2)."""
    context.party = authenticate(context.form, context.authorization, now=context.now)


def count_client(context: ExchangeContext) -> None:
    """Limits the exchanges of a client."""
    PER_RELYING_PARTY.take(context.party.client_id, now=context.now)


def find_code(context: ExchangeContext) -> None:
    """Finds the code, if it is this client's and its verifier comes with it, and the answer behind it."""
    context.code, context.answer = codes.find(context.party, context.form)


def sign_id_token(context: ExchangeContext) -> None:
    """Makes the tokens; before the code is used up, so that it still works once there is a key again."""
    context.access_token = secrets.token_urlsafe(32)
    context.id_token = codes.id_token(context.answer, context.party, context.access_token, now=context.now)


def use_code(context: ExchangeContext) -> dict[str, Any]:
    """Uses the code up; the members of the answer (Core 1.0 §3.1.3.3)."""
    codes.use(context.code, context.access_token, now=context.now)
    interaction = str(context.code.interaction_id)
    log.info("code_exchanged", client_id=context.party.client_id, interaction=interaction)
    return {
        "access_token": context.access_token,
        "token_type": "Bearer",
        "expires_in": int(codes.ACCESS_LIVES.total_seconds()),
        "id_token": context.id_token,
        **context.answer["beside"],
    }
