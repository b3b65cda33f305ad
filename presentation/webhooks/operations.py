"""What operators may do with a webhook: send it again."""

from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _t
from django.utils.translation import gettext_lazy as _

from infra.operations import Done, Operation, Refusals, Text
from presentation.webhooks import delivery
from presentation.webhooks.models import WebhookEvent


class UnwantedError(Exception):
    """The relying party has opted out of such events."""


NOT_SENT = _("%(count)d will not be sent: the relying party is not told of this any more.")
REFUSALS: Refusals = {UnwantedError: ""}


def _label(event: WebhookEvent) -> Text:
    return _("Send again") if event.attempts else _("Send now")


def _question(event: WebhookEvent) -> str:
    if event.state == WebhookEvent.State.DELIVERED:
        text = _t("%(party)s has taken it already and gets it once more, with the same webhook-id.")
    else:
        text = _t("It is sent to %(party)s at once and then tried for three days, with the same webhook-id.")
    return text % {"party": event.relying_party.name}


def _send_again(event: WebhookEvent, values: dict[str, Any], operator: str, now: datetime) -> Done:
    if not delivery.send_again(WebhookEvent.objects.filter(pk=event.pk), now=now):
        raise UnwantedError(NOT_SENT % {"count": 1})
    return Done(_t("To be sent now"))


OPERATIONS = {
    "send_again": Operation(label=_label, title=_("Send it now?"), question=_question, run=_send_again)
}
