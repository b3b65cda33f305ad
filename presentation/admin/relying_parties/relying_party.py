"""The admin of relying parties: list, registration, integration, operations, and pages beside the form."""

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db import models
from django.http import Http404, HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import NoReverseMatch, URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _t
from django.utils.translation import gettext_lazy as _

from infra.admin.operations import OperationsAdmin
from infra.words import Words
from presentation.admin import webhooks
from presentation.admin.relying_parties import client_secret_page, onboarding, preview
from presentation.admin.relying_parties.addresses import (
    CertifiedClientIDInline,
    RedirectURIInline,
    ResponseURIInline,
)
from presentation.admin.relying_parties.operations import OPERATIONS
from presentation.models import RelyingParty, RelyingPartyEvent
from presentation.relying_parties import integration, recognition
from presentation.relying_parties.forms import WIRE_FORMATS, RelyingPartyForm
from presentation.relying_parties.metadata import logos
from presentation.statistics import counting

PERIODS = (7, 30, 90, 400)  # days
DAY = timedelta(days=1)


def folded(title: Words, *fields: str) -> tuple[Words, dict[str, Any]]:
    """A part of the form that opens by a click, or by itself for an error in it."""
    return title, {"fields": fields, "classes": ("collapse",)}


@admin.register(RelyingParty)
class RelyingPartyAdmin(OperationsAdmin):
    operations = OPERATIONS
    short_addresses = True
    form = RelyingPartyForm
    inlines = (RedirectURIInline, ResponseURIInline, CertifiedClientIDInline)
    list_display = ("name", "client_id", "state", "answers_in")
    list_filter = ("state", "wire_format", "created_at")
    actions = None  # a relying party is deleted on its own page, if it can be
    search_fields = ("name", "client_id", "redirect_uris__uri")
    search_help_text = _("Name, client ID or redirect URI")
    readonly_fields = (
        *("client_id", "checklist", "try_it", "panel", "current_logo", "client_secrets", "webhooks"),
        *("state", "suspension_reason", "created_at"),
    )
    formfield_overrides = {models.URLField: {"assume_scheme": "https"}}
    # With the redirect URIs, which come first, these are what every relying party needs; OpenID Connect also
    # needs the choice of the number.
    first_fieldset = (
        _("Who asks what"),
        {"fields": ("name", "purpose", "allowed_scopes", "wire_format", "number")},
    )
    further_fieldsets = (
        folded(_("Logo"), "current_logo", "logo_file", "remove_logo"),
        folded(
            _("Links and contact"),
            *("privacy_policy_url", "terms_url", "initiate_login_uri", "contact", "privacy_contact"),
        ),
        folded(
            _("What else it may ask"),
            *("allowed_claims", "allowed_transaction_data_types", "sector"),
            *("minimum_assurance", "most_ages_a_year"),
        ),
        folded(
            _("As a client"),
            "grants",
            "client_secrets",
            "jwks",
            "jwks_uri",
            "may_name_endpoint",
            "id_token_signed_response_alg",
        ),
        folded(
            _("How it must ask"),
            *("requires_pushed_requests", "requires_signed_requests", "may_omit_exp"),
            *("request_uri_prefix", "may_omit_login_hint", "pkce_or_nonce"),
        ),
        folded(_("Webhooks"), "webhook_url", "webhook_events", "webhooks"),
        folded(_("State"), "state", "suspension_reason", "created_at", "notes"),
    )
    only_when_registered = {
        *("current_logo", "remove_logo", "client_secrets"),
        *("webhook_url", "webhook_events", "webhooks", "state", "suspension_reason", "created_at"),
    }
    integration_fieldset = (_("Integration"), {"fields": ("client_id", "checklist", "try_it", "panel")})

    def get_fieldsets(self, request: HttpRequest, obj: RelyingParty | None = None) -> Any:
        """For a registered relying party also its state and what its developers need."""
        if obj:
            return (self.first_fieldset, self.integration_fieldset, *self.further_fieldsets)
        further = []
        for title, options in self.further_fieldsets:
            if fields := [name for name in options["fields"] if name not in self.only_when_registered]:
                further.append((_("Notes") if fields == ["notes"] else title, {**options, "fields": fields}))
        return (self.first_fieldset, *further)

    @admin.display(description=_("wire format"), ordering="wire_format")
    def answers_in(self, relying_party: RelyingParty) -> str:
        """The wire format in a word, for the list."""
        return str(WIRE_FORMATS[RelyingParty.WireFormat(relying_party.wire_format)][0])

    @admin.display(description=_("Number of a person (sub)"))
    def number(self, relying_party: RelyingParty) -> str:
        """The choice in words, for operators who may only read."""
        return str(recognition.SUB[recognition.sub_of(relying_party)][0])

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
        """The secrets that work: when each was made, ends, and was last used."""
        return client_secret_page.table(relying_party)

    @admin.display(description=_("For its developers"))
    def panel(self, relying_party: RelyingParty) -> SafeString:
        """Addresses to copy, and one request to try for each redirect URI."""
        requests = integration.requests_to_try(relying_party, login_hint="person@example.com")
        by_code = relying_party.wire_format == RelyingParty.WireFormat.OPENID_CONNECT
        return render_to_string(
            "admin/presentation/relyingparty/integration.html",
            {"addresses": integration.addresses(), "requests": requests, "by_code": by_code},
        )

    @admin.display(description=_("Webhooks"))
    def webhooks(self, relying_party: RelyingParty) -> Any:
        """Whether webhooks are sent, and whether they arrive."""
        return webhooks.state_of(relying_party)

    def has_delete_permission(self, request: HttpRequest, obj: RelyingParty | None = None) -> bool:
        """False once it has interactions or webhooks, which must be kept and would be deleted with it."""
        used = obj is not None and (obj.interactions.exists() or obj.webhook_events_told.exists())
        return super().has_delete_permission(request, obj) and not used

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Adds what management commands did; the admin’s own history knows operators only."""
        done = RelyingPartyEvent.objects.filter(relying_party=self.get_object(request, object_id))[:100]
        return super().history_view(request, object_id, {"done_by_command": done, **(extra_context or {})})

    def save_model(
        self, request: HttpRequest, obj: RelyingParty, form: RelyingPartyForm, change: bool
    ) -> None:
        """Saves only the fields of the form, so that it does not overwrite a suspension made meanwhile."""
        moved = ("id", "state", "suspension_reason")
        typed_in = [field.name for field in obj._meta.concrete_fields if field.name not in moved]
        obj.save(update_fields=typed_in if change else None)

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        own = [
            path("<path:object_id>/preview/", view(self.preview), name="presentation_relyingparty_preview"),
            path("<path:object_id>/figures/", view(self.figures), name="presentation_relyingparty_figures"),
        ]
        return [*own, *super().get_urls()]

    def buttons(self, request: HttpRequest, row: Any = None) -> list[tuple[str, Words]]:
        """The pages of a row come before its operations. They need no permission to change."""
        pages: list[tuple[str, Words]] = []
        if row is not None:
            pages = [(_page(row, "preview"), _("Consent preview")), (_page(row, "figures"), _("Figures"))]
        return [*pages, *super().buttons(request, row)]

    def preview(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """The consent page with sample values, in one of the languages, for some of the allowed scopes."""
        party = self._seen(request, object_id)
        chosen = [urn for urn in request.GET.getlist("scope")[:20] if urn in party.allowed_scopes]
        language = request.GET.get("language", "")
        language = language if language in dict(settings.LANGUAGES) else settings.LANGUAGE_CODE
        links = [(f"?{urlencode({'language': code})}", name) for code, name in settings.LANGUAGES]
        if len(party.allowed_scopes) > 1:
            links += [
                (f"?{urlencode({'scope': urn, 'language': language})}", urn) for urn in party.allowed_scopes
            ]
        notice = render_to_string(
            "admin/presentation/relyingparty/preview_notice.html",
            {"back": self.address(party), "links": links},
        )
        scopes = chosen or party.allowed_scopes
        return preview.page(party, scopes, language, notice=notice, now=timezone.now())

    def figures(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """The figures of a period by day."""
        party = self._seen(request, object_id)
        days = _days(request)
        listed = list(counting.by_day(*_period(days), relying_party=party))
        response: HttpResponse = self.render(
            request,
            "admin/presentation/relyingparty/statistics.html",
            party,
            title=_t("Figures of %(name)s") % {"name": party.name},
            days=days,
            periods=PERIODS,
            listed=[(day, counts) for day, counts in reversed(listed) if counts.asked],
            total=counting.total(counts for _day, counts in listed),
        )
        return response

    def _seen(self, request: HttpRequest, object_id: str) -> RelyingParty:
        """The relying party, for an operator who may see it."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        party: RelyingParty | None = self.get_object(request, object_id)
        if party is None:
            raise Http404
        return party

    @admin.display(description=_("Before it goes live"))
    def checklist(self, relying_party: RelyingParty) -> SafeString:
        """What it still lacks before it can go live."""
        points = onboarding.points(relying_party, now=timezone.now())
        return render_to_string(
            "admin/presentation/relyingparty/checklist.html",
            {"points": points, "missing": onboarding.missing(points)},
        )

    @admin.display(description=_("Try it"))
    def try_it(self, relying_party: RelyingParty) -> SafeString:
        """In a sandbox a link to the playground with this client; otherwise how to try it."""
        try:
            place = reverse("playground")
        except NoReverseMatch:
            return render_to_string("admin/presentation/relyingparty/try_it.html", {})
        callback = settings.BASE_URL + reverse("playground_callback")
        registered = relying_party.redirect_uris.filter(uri=callback).exists()
        query = urlencode(
            [("client_id", relying_party.client_id), *(("scope", s) for s in relying_party.allowed_scopes)]
        )
        context = {"playground": f"{place}?{query}", "callback": callback, "registered": registered}
        return render_to_string("admin/presentation/relyingparty/try_it.html", context)


def _page(party: RelyingParty, name: str) -> str:
    return reverse(f"admin:presentation_relyingparty_{name}", args=[party.pk])


def _days(request: HttpRequest) -> int:
    """The length of the period; 30 days for anything unexpected."""
    period = request.GET.get("days", "")
    return next((days for days in PERIODS if str(days) == period), 30)


def _period(days: int) -> tuple[datetime, datetime]:
    """So many days (UTC), the last of which is today."""
    tomorrow = timezone.now().astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + DAY
    return tomorrow - days * DAY, tomorrow
