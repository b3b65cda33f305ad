"""Inserts webhook events about answers, in the transaction that closes the interaction.

For an answer that is posted, the event is inserted with its delivery; without a delivery there is no event.
"""

import json
import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from infra.moments import iso
from presentation.models import Interaction
from presentation.relying_parties.metadata.webhook_event_types import WebhookEventType
from presentation.webhooks.delivery import TRIED_FOR
from presentation.webhooks.models import WebhookEvent


def enqueue_answer(
    interaction: Interaction, outcome: Interaction.Outcome, *, error: str, now: datetime
) -> None:
    """Inserts the event about an answer, if it is wanted, in the transaction that closes the interaction."""
    if event := _of_answer(interaction, outcome, error, now):
        event.save(force_insert=True)


def enqueue_arrival(interaction: Interaction, *, now: datetime) -> None:
    """Inserts the event about a posted answer, in the transaction that stores its delivery.

    An event that an earlier release inserted with the answer is not inserted again.
    """
    outcome = Interaction.Outcome(interaction.outcome)
    if event := _of_answer(interaction, outcome, interaction.error, now):
        WebhookEvent.objects.bulk_create([event], ignore_conflicts=True)


def _of_answer(
    interaction: Interaction, outcome: Interaction.Outcome, error: str, now: datetime
) -> WebhookEvent | None:
    kind = WebhookEventType.COMPLETED if outcome == Interaction.Outcome.TOKEN else WebhookEventType.DENIED
    if kind not in interaction.relying_party.webhook_events:
        return None
    data = {"error": error} if error else {}
    return event_about(interaction, kind, subject=str(interaction.pk), data=data, now=now)


def event_about(
    interaction: Interaction, kind: WebhookEventType, *, subject: str, data: Mapping[str, Any], now: datetime
) -> WebhookEvent:
    """An event about a presentation, which the relying party identifies by the digest of its nonce.

    It contains neither claims nor the holder, `state` (which may hold anything) or internal ids.
    """
    about = {
        "client_id": interaction.relying_party.client_id,
        "nonce_sha256": interaction.nonce_digest,
        **data,
    }
    return WebhookEvent(
        id=uuid.uuid4(),
        relying_party=interaction.relying_party,
        type=kind,
        subject=subject,
        body=json.dumps({"type": kind.value, "timestamp": iso(now), "data": about}),
        created_at=now,
        due_at=now,
        give_up_at=now + TRIED_FOR,
    )
