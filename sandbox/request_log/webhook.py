"""Sends a test webhook, signed and called as every other, and stores what came back as a `Step`."""

import json
import uuid
from datetime import datetime

from infra.moments import iso
from infra.waiting import NoThreadFreeError, waiting_for
from presentation.models import RelyingParty
from presentation.requests.delivery import posting
from presentation.webhooks import delivery
from presentation.webhooks.models import WebhookEvent
from sandbox.models import LoggedStep
from sandbox.request_log.recording import store_step
from sandbox.self_service.self_registrations import CHANGES_PER_DEVELOPER


def send_test(party: RelyingParty, owner: str, *, reference: str, now: datetime) -> None:
    """Posts a webhook of the type `webhook.test`, which is not tried again; raises LimitReachedError."""
    CHANGES_PER_DEVELOPER.take(owner, now=now)
    data = {"client_id": party.client_id, "nonce_sha256": "0" * 64}  # members that every webhook has
    message = {"type": "webhook.test", "timestamp": iso(now), "data": data}
    event = WebhookEvent(id=uuid.uuid4(), body=json.dumps(message))
    try:
        with waiting_for(party.pk):
            went = delivery.send(event, party, posting.outbound, now)
    except NoThreadFreeError as error:
        went = delivery.Try(None, str(error))
    step = LoggedStep(relying_party=party, at=now, route="webhook.test", method="POST", status=went.status)
    step.reference, step.sentence = reference, went.problem[:300]
    store_step(step)
