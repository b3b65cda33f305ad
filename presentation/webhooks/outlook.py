"""When a webhook is tried next, in words for operators."""

from datetime import datetime

from django.utils.formats import date_format
from django.utils.translation import gettext as _

from presentation.models import RelyingParty
from presentation.webhooks.delivery import is_wanted
from presentation.webhooks.models import WebhookEndpoint, WebhookEvent


def next_try(event: WebhookEvent, *, now: datetime) -> str:
    """When, or what has to happen first; empty when there is none any more."""
    if event.state != WebhookEvent.State.WAITING:
        return ""
    endpoint = getattr(event.relying_party, "webhook_endpoint", None)  # made with the first secret
    if obstacle := _obstacle(event, endpoint):
        return obstacle
    at = max(event.due_at, endpoint.next_call_at) if endpoint else event.due_at
    if at <= now:
        return _("due since %(at)s") % {"at": date_format(at, "DATETIME_FORMAT")}
    return date_format(at, "DATETIME_FORMAT")


def _obstacle(event: WebhookEvent, endpoint: WebhookEndpoint | None) -> str | None:
    party = event.relying_party
    if not is_wanted(event):
        return _("none: it is not told of this any more")
    if party.state != RelyingParty.State.ACTIVE:
        return _("once the relying party is reinstated")
    if endpoint is None:
        return _("once there is a secret")
    if endpoint.gone_url == party.webhook_url:
        return _("once there is another address, or this is sent again")
    return None
