"""What a relying party that wants it is told of an answer: written down with the answer, or not at all.

Of an answer that is posted: once it has arrived. Of one that never does nothing is told.
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
    """Whether it is told of this; costs no statement."""
    return kind in relying_party.webhook_events


def kind_of(outcome: Interaction.Outcome) -> Type:
    """The event that an answer is."""
    return Type.COMPLETED if outcome == Interaction.Outcome.TOKEN else Type.DENIED


def tell_of_answer(interaction: Interaction, kind: Type, *, error: str, now: datetime) -> None:
    """Write the event of an answer down; inside the transaction that gives the answer."""
    data = {"error": error} if error else {}
    _new.run(event(interaction, kind, subject=str(interaction.id), data=data, now=now))


def tell_of_arrival(interaction: Interaction, *, now: datetime) -> None:
    """The same for an answer that is posted; inside the transaction that notes its arrival.

    What was told before, by a release that did so with the answer, is not told again.
    """
    kind = kind_of(Interaction.Outcome(interaction.outcome))
    if wants(interaction.relying_party, kind):
        data = {"error": interaction.error} if interaction.error else {}
        told = event(interaction, kind, subject=str(interaction.pk), data=data, now=now)
        WebhookEvent.objects.bulk_create([told], ignore_conflicts=True)


def event(
    interaction: Interaction, kind: Type, *, subject: str, data: Mapping[str, Any], now: datetime
) -> WebhookEvent:
    """An event about a presentation, which the relying party knows by the nonce it chose: of that a digest.

    Neither claims nor the holder, `state` (which may say anything) or our own numbers.
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
