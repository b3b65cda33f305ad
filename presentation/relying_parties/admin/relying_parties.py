"""The operators' side of relying parties: register, find, integrate, suspend."""

import secrets
from collections.abc import Callable
from functools import partial
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import models
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _t
from django.utils.translation import gettext_lazy as _

from infra.admin.histories import NewestFirst
from presentation.models import RelyingParty, RelyingPartyEvent
from presentation.relying_parties import integration
from presentation.relying_parties import registration as admission
from presentation.relying_parties.admin.addresses import RedirectURIInline, ResponseURIInline
from presentation.relying_parties.authentication import client_secret_pages
from presentation.relying_parties.forms import ReinstatementForm, RelyingPartyForm, SuspensionForm
from presentation.relying_parties.metadata import logos
from presentation.webhooks import admin as webhooks


@admin.register(RelyingParty)
class RelyingPartyAdmin(NewestFirst):
    form = RelyingPartyForm
    inlines = (RedirectURIInline, ResponseURIInline)
    list_display = ("name", "client_id", "state", "answers_in")
    list_filter = ("state", "wire_format", "created_at")
    actions = None  # each is deleted on its own page, as long as it can be
    search_fields = ("name", "client_id", "redirect_uris__uri")
    search_help_text = _("Name, client ID or redirect URI")
    readonly_fields = (
        *("client_id", "panel", "current_logo", "client_secrets", "webhooks"),
        *("state", "suspension_reason", "created_at"),
    )
    formfield_overrides = {models.URLField: {"assume_scheme": "https"}}
    fieldsets = (
        (_("Who asks"), {"fields": ("name", "purpose", "current_logo", "logo_file", "remove_logo")}),
        (_("Links and contact"), {"fields": ("privacy_policy_url", "terms_url", "contact")}),
        (
            _("What it may ask"),
            {
                "fields": (
                    "allowed_scopes",
                    "allowed_claims",
                    "allowed_transaction_data_types",
                    "wire_format",
                )
            },
        ),
        (_("As a client"), {"fields": ("grants", "client_secrets", "jwks", "jwks_uri")}),
        (
            _("How it must ask"),
            {"fields": ("requires_pushed_requests", "requires_signed_requests", "request_uri_prefix")},
        ),
        (_("Webhooks"), {"fields": ("webhook_url", "webhook_events", "webhooks")}),
        (_("State"), {"fields": ("state", "suspension_reason", "created_at", "notes")}),
    )
    new_fieldsets = (
        (_("Who asks"), {"fields": ("name", "purpose", "logo_file")}),
        *fieldsets[1:3],
        (_("As a client"), {"fields": ("grants", "jwks", "jwks_uri")}),
        fieldsets[4],
        (_("Notes"), {"fields": ("notes",)}),
    )
    integration_fieldset = (_("Integration"), {"fields": ("client_id", "panel")})
    change_form_template = "admin/presentation/relyingparty/change_form.html"

    def get_fieldsets(self, request: HttpRequest, obj: RelyingParty | None = None) -> Any:
        """A registered relying party shows its state, and what its developers need."""
        return (self.integration_fieldset, *self.fieldsets) if obj else self.new_fieldsets

    @admin.display(description=_("wire format"), ordering="wire_format")
    def answers_in(self, relying_party: RelyingParty) -> str:
        """In a word, for the list."""
        is_string = relying_party.wire_format == RelyingParty.WireFormat.STRING
        return _t("contract") if is_string else "OpenID4VP 1.0"

    @admin.display(description=_("Logo"))
    def current_logo(self, relying_party: RelyingParty) -> SafeString | str:
        """The logo as holders see it."""
        if not relying_party.pk or not relying_party.logo:
            return _t("none")
        if problem := logos.problem_with(bytes(relying_party.logo)):
            return _t("not shown to holders: %(problem)s") % {"problem": problem}
        address = reverse("relying_party_logo", args=[relying_party.client_id])
        return format_html('<img class="relying-party-logo" src="{}" alt="">', address)

    @admin.display(description=_("Client secrets"))
    def client_secrets(self, relying_party: RelyingParty) -> SafeString:
        """When those that work were made, end and were used."""
        return client_secret_pages.table(relying_party)

    @admin.display(description=_("For its developers"))
    def panel(self, relying_party: RelyingParty) -> SafeString:
        """Addresses to copy, and one request per redirect URI that is ready to try."""
        requests = [
            integration.authorize_url(
                relying_party,
                row.uri,
                login_hint="person@example.com",
                nonce=secrets.token_urlsafe(24),
                state=secrets.token_urlsafe(12),
            )
            for row in relying_party.redirect_uris.all()
        ]
        return render_to_string(
            "admin/presentation/relyingparty/integration.html",
            {"addresses": integration.addresses(), "requests": requests},
        )

    @admin.display(description=_("How it stands"))
    def webhooks(self, relying_party: RelyingParty) -> Any:
        """Whether it is told of anything, and whether that arrives."""
        return webhooks.standing(relying_party)

    def get_urls(self) -> list[URLPattern]:
        """Adds the two confirmation pages and those of the secrets."""
        pages: dict[str, Callable[..., HttpResponse]] = {
            "suspend": self.suspend_view,
            "reinstate": self.reinstate_view,
            "secrets": self.secrets_view,
            "webhook_secret": partial(webhooks.secret_view, self),
        }
        own = [
            path(f"<path:object_id>/{name}/", self.admin_site.admin_view(view), name=f"relying_party_{name}")
            for name, view in pages.items()
        ]
        return own + super().get_urls()

    def has_delete_permission(self, request: HttpRequest, obj: RelyingParty | None = None) -> bool:
        """Not once it has asked or was told of something: those records are kept, and would go with it."""
        used = obj is not None and (obj.interactions.exists() or obj.webhook_events_told.exists())
        return super().has_delete_permission(request, obj) and not used

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """With what was done by command: the table above it names operators only."""
        done = RelyingPartyEvent.objects.filter(relying_party=self.get_object(request, object_id))[:100]
        return super().history_view(request, object_id, {"done_by_command": done, **(extra_context or {})})

    def save_model(
        self, request: HttpRequest, obj: RelyingParty, form: RelyingPartyForm, change: bool
    ) -> None:
        """Saves what can be typed in, so that a form sent during a suspension does not undo it."""
        moved = ("id", "state", "suspension_reason")
        typed_in = [field.name for field in obj._meta.concrete_fields if field.name not in moved]
        obj.save(update_fields=typed_in if change else None)

    def suspend_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Asks for the reason, then suspends."""
        relying_party = self._to_move(request, object_id)
        title = _t("Suspend %(name)s?") % {"name": relying_party.name}
        form = SuspensionForm(request.POST or None)
        if request.method == "POST" and form.is_valid():
            reason = form.cleaned_data["reason"]
            said = _t("Suspended: %(reason)s") % {"reason": reason}
            return self._moved(request, relying_party, said, lambda: admission.suspend(relying_party, reason))
        return self._confirmation(request, relying_party, form, title)

    def reinstate_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Asks once more, then reinstates."""
        relying_party = self._to_move(request, object_id)
        if request.method == "POST":
            return self._moved(
                request, relying_party, _t("Reinstated"), lambda: admission.reinstate(relying_party)
            )
        title = _t("Reinstate %(name)s?") % {"name": relying_party.name}
        return self._confirmation(request, relying_party, ReinstatementForm(), title)

    def secrets_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Makes a secret, which is shown this once, or ends one."""
        return client_secret_pages.page(self, request, self._to_move(request, object_id))

    def _to_move(self, request: HttpRequest, object_id: str) -> RelyingParty:
        relying_party = self.get_object(request, object_id)
        if relying_party is None:
            raise Http404
        if not self.has_change_permission(request, relying_party):
            raise PermissionDenied
        return relying_party

    def _moved(
        self, request: HttpRequest, relying_party: RelyingParty, said: str, move: Callable[[], None]
    ) -> HttpResponse:
        try:
            move()
        except admission.MoveError:
            self.message_user(request, _t("Somebody was faster: nothing was changed."), messages.WARNING)
        else:
            self.log_change(request, relying_party, said)
            self.message_user(request, f"{relying_party}: {said}", messages.SUCCESS)
        return HttpResponseRedirect(_address(relying_party))

    def _confirmation(
        self, request: HttpRequest, relying_party: RelyingParty, form: Form, title: str
    ) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "original": relying_party,
            "title": title,
            "form": form,
            "back": _address(relying_party),
        }
        return TemplateResponse(request, "admin/presentation/relyingparty/confirm_move.html", context)


def _address(relying_party: RelyingParty) -> str:
    return reverse("admin:presentation_relyingparty_change", args=[relying_party.pk])
