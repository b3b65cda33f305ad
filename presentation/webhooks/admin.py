"""The operators' side of webhooks: the delivery log, sending again, a relying party's secrets."""

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _t
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from infra.admin.operations import OperationsAdmin
from infra.admin.read_only import FilteredOnly, ReadOnly
from presentation.models import RelyingParty
from presentation.relying_parties.forms import NewSecretForm
from presentation.webhooks import delivery, outlook, signing_secrets
from presentation.webhooks.models import WebhookEndpoint, WebhookEvent
from presentation.webhooks.operations import NOT_SENT, OPERATIONS, REFUSALS

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


@admin.register(WebhookEvent)
class WebhookEventAdmin(FilteredOnly, ReadOnly, OperationsAdmin):
    """The delivery log: events can be read, and sent again."""

    operations = OPERATIONS
    refusals = REFUSALS
    permitted_with = "relyingparty"
    short_addresses = True

    list_display = ("created_at", "relying_party", "type", "last_result", "attempts", "next_try")
    list_display_links = ("created_at",)
    list_filter = ("state", "type", "created_at")
    list_select_related = ("relying_party__webhook_endpoint",)
    search_fields = ("=id", "relying_party__name", "=relying_party__client_id")
    search_help_text = _("webhook-id, or a relying party’s name or client ID")
    show_full_result_count = False
    fields = readonly_fields = (
        *("id", "relying_party", "type", "state", "last_result", "attempts"),
        *("created_at", "tried_at", "next_try", "give_up_at", "body_shown"),
    )
    actions = ("send_again",)

    @admin.display(description=_("next try"))
    def next_try(self, event: WebhookEvent) -> str:
        """When, while there is one, or what keeps it back; empty afterwards."""
        return outlook.next_try(event, now=timezone.now())

    @admin.display(description=_("last result"))
    def last_result(self, event: WebhookEvent) -> str:
        """What came of the last try, and whether it was the last."""
        result = event.problem or _t("not tried yet")
        if event.response_status is not None and not event.problem:
            result = _t("taken, with status %(status)s") % {"status": event.response_status}
        ended = event.state in (WebhookEvent.State.GIVEN_UP, WebhookEvent.State.UNWANTED)
        return f"{event.get_state_display()}: {result}" if ended else result

    @admin.display(description=_("body"))
    def body_shown(self, event: WebhookEvent) -> SafeString:
        """What is sent, spread over lines."""
        return format_html("<pre>{}</pre>", json.dumps(json.loads(event.body), indent=2, ensure_ascii=False))

    @admin.action(description=_("Send again"), permissions=["send"])
    def send_again(self, request: HttpRequest, queryset: QuerySet[WebhookEvent]) -> None:
        """From now on, with the same id."""
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
        """For the action of the list."""
        return self.has_permission_to(request, "change")

    def has_view_permission(self, request: HttpRequest, obj: WebhookEvent | None = None) -> bool:
        return self.has_permission_to(request, "view")

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)


def _will_be_sent(count: int) -> str:
    said = ngettext("%(count)d webhook will be sent now.", "%(count)d webhooks will be sent now.", count)
    return said % {"count": count}


def standing(relying_party: RelyingParty) -> "StrOrPromise":
    """How a relying party's webhooks stand: whether there is a secret, whether its address answers."""
    if not relying_party.webhook_events:
        return _t("It is told of nothing.")
    endpoint = WebhookEndpoint.objects.filter(pk=relying_party.pk).first()
    secret = signing_secrets.in_use(relying_party, now=timezone.now()).first()
    if endpoint is None or secret is None:
        return _t("There is no secret yet, so nothing is sent: make one with the button “Webhook secret”.")
    text: SafeString = render_to_string(
        "admin/presentation/relyingparty/webhook_standing.html",
        {"endpoint": endpoint, "secret": secret, "relying_party": relying_party},
    )
    return text


def secret_page(own: Any, request: HttpRequest, relying_party: RelyingParty) -> HttpResponse:
    """Makes a secret and shows it, once. `own` is the admin of relying parties."""
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
        new=new,
    )
    return response
