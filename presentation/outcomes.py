"""How a request went, told to the relying application that made it, which knows it by the nonce it chose.

Never what was shared or with which wallet, and nothing of anybody else's requests: those are unknown here.
"""

from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from django.db.models import Case, Value, When
from django.db.models.functions import Coalesce

from infra.limits import Limit
from presentation.errors import AccessDeniedError
from presentation.models import Interaction, RelyingParty
from presentation.requests.authorization_request import nonce_digest
from presentation.requests.delivery import deliveries
from presentation.requests.delivery.deliveries import Standing
from wallet.status_lists import standing

PER_CLIENT = Limit("outcomes_of_client", most=1200, window=timedelta(minutes=1))

_TOKEN = Interaction.Outcome.TOKEN


class UnknownRequestError(LookupError):
    """This relying party made no such request, or it is forgotten, or no browser has brought it yet."""


class State(StrEnum):
    """How a request stands."""

    OPEN = "open"
    COMPLETED = "completed"  # a token was given
    DENIED = "denied"  # the one answer to which nobody gets a reason
    FAILED = "failed"  # another error was given
    EXPIRED = "expired"  # nobody answered


class Delivery(StrEnum):
    """What became of an answer that is posted."""

    WAITING = "waiting"
    DELIVERED = "delivered"
    UNDELIVERED = "undelivered"  # nobody knows that it arrived, and it is gone


_DELIVERIES = {
    Standing.WAITING: Delivery.WAITING,
    Standing.HELD: Delivery.WAITING,
    Standing.UNDER_WAY: Delivery.WAITING,
    Standing.DELIVERED: Delivery.DELIVERED,
    Standing.ENDED: Delivery.UNDELIVERED,
}


def tell(nonce: str, *, client_id: str, now: datetime) -> dict[str, Any]:
    """The members of the answer; raises UnknownRequestError or LimitReachedError."""
    PER_CLIENT.take(client_id, now=now)
    interaction = _counting(client_id, nonce)
    if interaction is None:
        raise UnknownRequestError
    told = {"state": _state(interaction, now), "begun_at": _time(interaction.created_at)}
    if interaction.answered_at:
        told["answered_at"] = _time(interaction.answered_at)
    if interaction.error:
        told["error"] = interaction.error
    if delivery := getattr(interaction, "delivery", None):
        told["delivery"] = _DELIVERIES[deliveries.standing(delivery, now=now)]
    if status := _status(interaction, now):
        told["status"] = status
    return told


def _counting(client_id: str, nonce: str) -> Interaction | None:
    """Several browsers may bring one request: the one that got a token counts, else what happened last."""
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
    """How what was presented stands, as its status list has it; empty once it has ended."""
    if interaction.outcome != _TOKEN or interaction.consent is None:
        return ""
    consent = interaction.consent
    found = standing.standings(consent.wallet, [consent.id], now=now).get(consent.id)
    return "" if found is None else found.name.lower()


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
