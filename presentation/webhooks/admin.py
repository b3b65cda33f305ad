"""The operators' side of webhooks: the delivery log, sending again, a relying party's secrets."""

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _t
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from presentation.forms import NewSecretForm
from presentation.models import RelyingParty
from presentation.webhooks import delivery, signing_secrets
from presentation.webhooks.models import WebhookEndpoint, WebhookEvent

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


@admin.register(WebhookEvent)
class WebhookEventAdmin(admin.ModelAdmin):
    """What was told to whom, and how that went; to be read, and sent again."""

    list_display = (
        *("created_at", "relying_party", "type", "state", "attempts"),
        *("tried_at", "response_status", "problem", "next_try"),
    )
    list_display_links = ("created_at",)
    list_filter = ("state", "type", "created_at")
    list_select_related = ("relying_party",)
    search_fields = ("=id", "relying_party__name", "=relying_party__client_id")
    search_help_text = _("webhook-id, or a relying party's name or client ID")
    show_full_result_count = False
    fields = readonly_fields = (
        *("id", "relying_party", "type", "body", "state", "created_at", "attempts"),
        *("tried_at", "response_status", "problem", "next_try", "give_up_at"),
    )
    actions = ("send_again",)

    @admin.display(description=_("next try"))
    def next_try(self, event: WebhookEvent) -> Any:
        """When, while there is one; empty afterwards."""
        return event.due_at if event.state == WebhookEvent.State.WAITING else None

    @admin.action(description=_("Send again"), permissions=["send"])
    def send_again(self, request: HttpRequest, queryset: QuerySet[WebhookEvent]) -> None:
        """From now on, with the same id."""
        chosen = list(queryset)
        count = delivery.send_again(
            WebhookEvent.objects.filter(pk__in=[event.pk for event in chosen]), now=timezone.now()
        )
        for event in chosen:
            self.log_change(request, event, _t("Sent again"))
        said = ngettext("%(count)d webhook is sent again.", "%(count)d webhooks are sent again.", count)
        self.message_user(request, said % {"count": count}, messages.SUCCESS)

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        return lookup.split("__")[0] in self.list_filter

    def has_send_permission(self, request: HttpRequest) -> bool:
        """Whoever may change relying parties."""
        return request.user.has_perm("presentation.change_relyingparty")

    def has_view_permission(self, request: HttpRequest, obj: WebhookEvent | None = None) -> bool:
        return request.user.has_perm("presentation.view_relyingparty")

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: WebhookEvent | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: WebhookEvent | None = None) -> bool:
        return False


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


def secret_view(own: admin.ModelAdmin, request: HttpRequest, object_id: str) -> HttpResponse:
    """Asks once more, makes a secret, and shows it: once. `own` is the admin of relying parties."""
    relying_party = own.get_object(request, object_id)
    if relying_party is None:
        raise Http404
    if not own.has_change_permission(request, relying_party):
        raise PermissionDenied
    now = timezone.now()
    form, new = NewSecretForm(request.POST or None), None
    if form.is_valid():
        overlap = timedelta(0) if form.cleaned_data["before"] == "end" else signing_secrets.OVERLAP
        new = signing_secrets.rotate(relying_party, now=now, overlap=overlap)
        own.log_change(request, relying_party, _t("New webhook secret"))
    context = {
        **own.admin_site.each_context(request),
        "opts": own.opts,
        "original": relying_party,
        "title": _t("Webhook secret of %(name)s") % {"name": relying_party.name},
        "form": form,
        "secrets": list(signing_secrets.in_use(relying_party, now=now)),
        "new": new,
    }
    template = "admin/presentation/relyingparty/webhook_secret.html"
    return TemplateResponse(request, template, context)
