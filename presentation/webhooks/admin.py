"""The operators' side of webhooks: the delivery log, sending again, a relying party's secrets."""

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _t
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from infra.admin.read_only import ReadOnly
from presentation.models import RelyingParty
from presentation.relying_parties.forms import NewSecretForm
from presentation.webhooks import delivery, outlook, signing_secrets
from presentation.webhooks.models import WebhookEndpoint, WebhookEvent

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


_NOT_SENT = _("%(count)d will not be sent: the relying party is not told of this any more.")


@admin.register(WebhookEvent)
class WebhookEventAdmin(ReadOnly, admin.ModelAdmin):
    """What was told to whom, and how that went; to be read, and sent again."""

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
    change_form_template = "admin/presentation/webhookevent/change_form.html"

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
        said = ngettext("%(count)d webhook will be sent now.", "%(count)d webhooks will be sent now.", count)
        self.message_user(request, said % {"count": count}, messages.SUCCESS)
        if left := len(chosen) - count:
            self.message_user(request, _NOT_SENT % {"count": left}, messages.WARNING)

    def send_again_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Asks once more, then does it for this one."""
        event = self.get_object(request, object_id)
        if event is None:
            raise Http404
        if not self.has_send_permission(request):
            raise PermissionDenied
        back = reverse("admin:presentation_webhookevent_change", args=[event.pk])
        if request.method == "POST":
            self.send_again(request, WebhookEvent.objects.filter(pk=event.pk))
            return HttpResponseRedirect(back)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "original": event,
            "title": _t("Send it now?"),
            "back": back,
        }
        return TemplateResponse(request, "admin/presentation/webhookevent/confirm_send.html", context)

    def get_urls(self) -> list[URLPattern]:
        """Adds the page that asks before one is sent again."""
        view = self.admin_site.admin_view(self.send_again_view)
        return [path("<path:object_id>/send_again/", view, name="webhook_send_again"), *super().get_urls()]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """With the button for those who may."""
        context = {"may_send": self.has_send_permission(request), **(extra_context or {})}
        return super().change_view(request, object_id, form_url, context)

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        return lookup.split("__")[0] in self.list_filter

    def has_send_permission(self, request: HttpRequest) -> bool:
        """Whoever may change relying parties."""
        return request.user.has_perm("presentation.change_relyingparty")

    def has_view_permission(self, request: HttpRequest, obj: WebhookEvent | None = None) -> bool:
        return request.user.has_perm("presentation.view_relyingparty")

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)


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
