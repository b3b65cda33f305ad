"""The outcome of a request, for the relying party that made it and names it by its nonce.

It never contains claims or the wallet. Requests of other relying parties count as unknown.
"""

from datetime import datetime
from enum import StrEnum
from typing import Any

from django.db.models import Case, Value, When
from django.db.models.functions import Coalesce

from infra import log_context
from infra.limits import Limit
from infra.moments import iso
from presentation.errors import AccessDeniedError
from presentation.machine_errors import MachineError
from presentation.models import Interaction, RelyingParty
from presentation.requests.authorization_request import nonce_digest
from presentation.requests.delivery import deliveries
from presentation.requests.delivery.deliveries import DeliveryState
from wallet.credential.credentials import TOKEN_LIFETIME
from wallet.status_lists import statuses

PER_RELYING_PARTY = Limit.from_settings("outcomes-per-relying-party")

_TOKEN = Interaction.Outcome.TOKEN


class State(StrEnum):
    """The state of a request, as on the wire."""

    OPEN = "open"
    COMPLETED = "completed"  # with a token
    DENIED = "denied"  # with `access_denied`, which has no reason
    FAILED = "failed"  # with another error
    EXPIRED = "expired"  # without an answer


# What the relying party reads about an answer that is posted.
DELIVERIES = {
    DeliveryState.WAITING: "waiting",
    DeliveryState.HELD: "waiting",
    DeliveryState.UNDER_WAY: "waiting",
    DeliveryState.DELIVERED: "delivered",
    DeliveryState.ENDED: "undelivered",  # erased without a confirmed delivery
}


def outcome_of(nonce: str, *, client_id: str, now: datetime) -> dict[str, Any]:
    """The members of the answer; raises MachineError or LimitReachedError."""
    PER_RELYING_PARTY.take(client_id, now=now)
    interaction = _interaction(client_id, nonce)
    if interaction is None:
        # It made none, or it is deleted, or no browser has brought it yet: the answer does not tell which.
        unknown = "No request of this client with this nonce is known."
        raise MachineError(unknown, error="unknown_request", status=404)
    log_context.bind(interaction=str(interaction.id))
    return told_about(interaction, now=now)


def told_about(interaction: Interaction, *, now: datetime) -> dict[str, Any]:
    """The members of the answer about this interaction."""
    members = {"state": _state(interaction, now), "begun_at": iso(interaction.created_at)}
    if interaction.answered_at:
        members["answered_at"] = iso(interaction.answered_at)
    if interaction.error:
        members["error"] = interaction.error
    if delivery := getattr(interaction, "delivery", None):
        members["delivery"] = DELIVERIES[deliveries.state_of(delivery, now=now)]
    if status := _status(interaction, now):
        members["status"] = status
    return members


def _interaction(client_id: str, nonce: str) -> Interaction | None:
    """A nonce can have several interactions. Prefers the one that produced a token, else the latest."""
    return (
        Interaction.objects.filter(
            relying_party__client_id=client_id,
            relying_party__state=RelyingParty.State.ACTIVE,
            nonce_digest=nonce_digest(nonce),
        )
        .order_by(
            Case(When(outcome=_TOKEN, then=Value(0)), default=Value(1)),
            Coalesce("answered_at", "created_at").desc(),
        )
        .select_related("delivery", "consent__wallet")
        .defer("parameters", "sealed_transaction_data")
        .first()
    )


def _state(interaction: Interaction, now: datetime) -> State:
    if interaction.outcome == _TOKEN:
        return State.COMPLETED
    if interaction.outcome:
        return State.DENIED if interaction.error == AccessDeniedError.error else State.FAILED
    return State.OPEN if interaction.expires_at > now else State.EXPIRED


def _status(interaction: Interaction, now: datetime) -> str:
    """The status of the presented credential, of several the worst; empty once it has expired."""
    if interaction.outcome != _TOKEN or interaction.consent is None:
        return ""
    consent = interaction.consent
    if consent.wallet is None:  # closed, and all that was presented from it is invalid until it expires
        answered = interaction.answered_at
        valid_still = answered is not None and answered + TOKEN_LIFETIME > now
        return statuses.Status.INVALID.name.lower() if valid_still else ""
    status = statuses.statuses_of(consent.wallet, [consent.id], now=now, gravest=True).get(consent.id)
    return "" if status is None else status.name.lower()
