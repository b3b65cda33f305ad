"""Finds presented credentials that became invalid, and inserts an event for each.

No progress is stored: an event is due for every credential that is invalid, unexpired and without an event.
Any number of instances may run at once.
"""

from datetime import datetime

from django.db.models import CharField, Exists, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Cast, Concat

from presentation.models import Interaction, RelyingParty
from presentation.requests import webhook_events
from presentation.webhooks.models import WebhookEvent
from wallet.models import StatusEntry
from wallet.status_lists import allocation, statuses

REVOKED = WebhookEvent.Type.REVOKED
BATCH = 500


def collect(*, now: datetime, batch: int = BATCH) -> int:
    """Inserts the missing events, `batch` per transaction; returns their number."""
    collected = 0
    parties = RelyingParty.objects.exclude(webhook_url="").values("pk", "webhook_events")
    wanting = [party["pk"] for party in parties if REVOKED in party["webhook_events"]]
    while wanting and (entries := list(_without_event(wanting, now)[:batch])):
        collected += _insert_events(entries, now)
        if len(entries) < batch:
            break
    return collected


def _without_event(parties: list[int], now: datetime) -> QuerySet[StatusEntry]:
    answered = Interaction.objects.filter(
        consent=OuterRef("reference"), relying_party__in=parties, outcome=Interaction.Outcome.TOKEN
    )
    place = Concat(
        Cast(OuterRef("status_list_id"), CharField()),
        Value("/"),
        Cast(OuterRef("idx"), CharField()),
        output_field=CharField(),
    )
    inserted = WebhookEvent.objects.filter(Q(type=REVOKED), subject=place)
    return statuses.invalid(now=now).filter(Exists(answered), ~Exists(inserted)).order_by()


def _insert_events(entries: list[StatusEntry], now: datetime) -> int:
    of = {
        interaction.consent_id: interaction
        for interaction in Interaction.objects.filter(
            consent__in=[entry.reference for entry in entries]
        ).select_related("relying_party")
    }
    events = [
        webhook_events.event_about(
            of[entry.reference],
            REVOKED,
            subject=str(entry),
            data={"status": allocation.status_claim(entry.status_list_id, entry.idx)},
            now=now,
        )
        for entry in entries
        if entry.reference in of
    ]
    return len(WebhookEvent.objects.bulk_create(events, ignore_conflicts=True))
