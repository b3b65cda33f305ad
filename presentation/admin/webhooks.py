"""The admin of webhooks: the delivery log, sending again, and the secrets of a relying party."""

import json
from datetime import datetime, timedelta
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _t
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from infra.admin.operations import OperationsAdmin
from infra.admin.read_only import FilteredOnly, ReadOnly
from infra.operations import Done, Operation
from infra.words import Words
from presentation.models import RelyingParty
from presentation.relying_parties.forms import NewSecretForm
from presentation.webhooks import delivery, signing_secrets
from presentation.webhooks.models import WebhookEndpoint, WebhookEvent

NOT_SENT = _("%(count)d will not be sent: the relying party does not get these events any more.")


class UnwantedError(Exception):
    """The relying party no longer wants events of this type."""


def _label(event: WebhookEvent) -> Words:
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


@admin.register(WebhookEvent)
class WebhookEventAdmin(FilteredOnly, ReadOnly, OperationsAdmin):
    """The delivery log: operators read events, and send them again."""

    operations = {
        "send_again": Operation(label=_label, title=_("Send it now?"), question=_question, run=_send_again)
    }
    refusals = {UnwantedError: ""}
    permitted_with = "relyingparty"
    short_addresses = True

    list_display = ("created_at", "relying_party", "type", "last_result", "attempts", "next_try")
    list_display_links = ("created_at",)
    list_filter = ("state", "type", "created_at")
    list_select_related = ("relying_party__webhook_endpoint",)
    search_fields = ("=id", "relying_party__name", "=relying_party__client_id")
    search_help_text = _("webhook-id, or a relying party’s name or client ID")
    fields = (
        *("id", "relying_party", "type", "state", "last_result", "attempts"),
        *("created_at", "tried_at", "next_try", "give_up_at", "body_shown"),
    )
    actions = ("send_again",)

    @admin.display(description=_("next try"))
    def next_try(self, event: WebhookEvent) -> str:
        """The time of the next try, or what prevents it; empty if there is none."""
        if event.state != WebhookEvent.State.WAITING:
            return ""
        endpoint = getattr(event.relying_party, "webhook_endpoint", None)  # inserted with the first secret
        if obstacle := _obstacle(event, endpoint):
            return obstacle
        at = max(event.due_at, endpoint.next_call_at) if endpoint else event.due_at
        if at <= timezone.now():
            return _t("due since %(at)s") % {"at": date_format(at, "DATETIME_FORMAT")}
        return date_format(at, "DATETIME_FORMAT")

    @admin.display(description=_("last result"))
    def last_result(self, event: WebhookEvent) -> str:
        """The result of the last try, and whether more follow."""
        result = event.problem or _t("not tried yet")
        if event.response_status is not None and not event.problem:
            result = _t("taken, with status %(status)s") % {"status": event.response_status}
        ended = event.state in (WebhookEvent.State.GIVEN_UP, WebhookEvent.State.UNWANTED)
        return f"{event.get_state_display()}: {result}" if ended else result

    @admin.display(description=_("body"))
    def body_shown(self, event: WebhookEvent) -> SafeString:
        """The JSON body, indented."""
        return format_html("<pre>{}</pre>", json.dumps(json.loads(event.body), indent=2, ensure_ascii=False))

    @admin.action(description=_("Send again"), permissions=["send"])
    def send_again(self, request: HttpRequest, queryset: QuerySet[WebhookEvent]) -> None:
        """Sends the chosen events again, with the same ids."""
        chosen = list(queryset.select_related("relying_party"))
        count = delivery.send_again(
            WebhookEvent.objects.filter(pk__in=[event.pk for event in chosen]), now=timezone.now()
        )
        for event in filter(delivery.is_wanted, chosen):
            self.log_change(request, event, _t("To be sent now"))
        self.message_user(request, _will_be_sent(count), messages.SUCCESS)
        if left := len(chosen) - count:
            self.message_user(request, NOT_SENT % {"count": left}, messages.WARNING)

    def message_for(self, row: WebhookEvent, text: str) -> str:
        return _will_be_sent(1)

    def has_send_permission(self, request: HttpRequest) -> bool:
        """The permission for the action of the list."""
        return self.has_permission_to(request, "change")


def _obstacle(event: WebhookEvent, endpoint: WebhookEndpoint | None) -> str | None:
    party = event.relying_party
    if not delivery.is_wanted(event):
        return _t("none: it is not told of this any more")
    if party.state != RelyingParty.State.ACTIVE:
        return _t("once the relying party is reinstated")
    if endpoint is None:
        return _t("once there is a secret")
    if endpoint.gone_url == party.webhook_url:
        return _t("once there is another address, or this is sent again")
    return None


def _will_be_sent(count: int) -> str:
    message = ngettext("%(count)d webhook will be sent now.", "%(count)d webhooks will be sent now.", count)
    return message % {"count": count}


def state_of(relying_party: RelyingParty) -> Words:
    """The state of a relying party's webhooks: whether there is a secret, and whether its address answers."""
    if not relying_party.webhook_events:
        return _t("It has no webhooks.")
    endpoint = WebhookEndpoint.objects.filter(pk=relying_party.pk).first()
    secret = signing_secrets.in_use(relying_party, now=timezone.now()).first()
    if endpoint is None or secret is None:
        return _t("There is no secret yet, so nothing is sent: make one with the button “Webhook secret”.")
    text: SafeString = render_to_string(
        "admin/presentation/relyingparty/webhook_state.html",
        {"endpoint": endpoint, "secret": secret, "relying_party": relying_party},
    )
    return text


def secret_page(own: Any, request: HttpRequest, relying_party: RelyingParty) -> HttpResponse:
    """The page that makes a secret and shows it once. own: the admin of relying parties."""
    now = timezone.now()
    form, new = NewSecretForm(request.POST or None), None
    if form.is_valid():
        overlap = timedelta(0) if form.cleaned_data["before"] == "end" else signing_secrets.OVERLAP
        new = signing_secrets.rotate(relying_party, now=now, overlap=overlap)
        own.log_change(request, relying_party, _t("New webhook secret"))
    response: HttpResponse = own.render(
        request,
        "admin/presentation/relyingparty/webhook_secret.html",
        relying_party,
        title=_t("Webhook secret of %(name)s") % {"name": relying_party.name},
        form=form,
        secrets=list(signing_secrets.in_use(relying_party, now=now)),
        new=new and {"text": new},
    )
    return response
