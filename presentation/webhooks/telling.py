"""Inserts webhook events about answers, in the transaction that closes the interaction.

For an answer that is posted, the event is inserted with its delivery; without a delivery there is no event.
"""

import json
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from infra.database.prepared_statements import PreparedInsert
from presentation.models import Interaction, RelyingParty
from presentation.webhooks.models import WebhookEvent
from presentation.webhooks.pace import TRIED_FOR

Type = WebhookEvent.Type

_new = PreparedInsert(WebhookEvent)


def wants(relying_party: RelyingParty, kind: Type) -> bool:
    """Whether the relying party wants events of this type; needs no query."""
    return kind in relying_party.webhook_events


def kind_of(outcome: Interaction.Outcome) -> Type:
    """The type of the event about an answer with this outcome."""
    return Type.COMPLETED if outcome == Interaction.Outcome.TOKEN else Type.DENIED


def tell_of_answer(interaction: Interaction, kind: Type, *, error: str, now: datetime) -> None:
    """Inserts the event about an answer, in the transaction that closes the interaction."""
    data = {"error": error} if error else {}
    _new.run(event(interaction, kind, subject=str(interaction.id), data=data, now=now))


def tell_of_arrival(interaction: Interaction, *, now: datetime) -> None:
    """Inserts the event about a posted answer, in the transaction that stores its delivery.

    An event that an earlier release inserted with the answer is not inserted again.
    """
    kind = kind_of(Interaction.Outcome(interaction.outcome))
    if wants(interaction.relying_party, kind):
        data = {"error": interaction.error} if interaction.error else {}
        told = event(interaction, kind, subject=str(interaction.pk), data=data, now=now)
        WebhookEvent.objects.bulk_create([told], ignore_conflicts=True)


def event(
    interaction: Interaction, kind: Type, *, subject: str, data: Mapping[str, Any], now: datetime
) -> WebhookEvent:
    """An event about a presentation, which the relying party identifies by the digest of its nonce.

    It contains neither claims nor the holder, `state` (which may hold anything) or internal ids.
    """
    about = {
        "client_id": interaction.relying_party.client_id,
        "nonce_sha256": interaction.nonce_digest,
        **data,
    }
    timestamp = now.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return WebhookEvent(
        id=uuid.uuid4(),
        relying_party=interaction.relying_party,
        type=kind,
        subject=subject,
        body=json.dumps({"type": kind.value, "timestamp": timestamp, "data": about}),
        created_at=now,
        due_at=now,
        give_up_at=now + TRIED_FOR,
    )
