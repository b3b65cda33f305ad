"""The admin pages of consent records and of reports, for operators and auditors: all fields, read-only."""

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _t
from django.utils.translation import gettext_lazy as _

from consent import transactions
from consent.models import Consent, Report
from infra.admin.read_only import ReadOnly
from infra.admin.row_ids import as_id, short_id
from infra.sealing import SealError, unseal_column


@admin.register(Consent)
class ConsentAdmin(ReadOnly, admin.ModelAdmin):
    """Consent records. The holder appears as the wallet's ID, never by name or e-mail address."""

    list_display = [short_id, "requester_name", "decision", "asked_at", "decided_at"]
    list_filter = ["decision", "asked_at"]
    search_fields = ["requester_id"]  # shows the search form; `get_search_results` does the search
    search_help_text = _("Name or client ID of the requester, or the whole ID of a consent or a wallet")
    ordering = ["-asked_at"]
    sortable_by = ()
    list_per_page = 50
    fields = [
        "id",
        "decision",
        "asked_at",
        "decided_at",
        "undelivered_at",
        "expires_at",
        "erased_at",
        "wallet",
        "requester_id",
        "requester_shown",
        "claim_names",
        "optional_names",
        "switched_on_names",
        "told_names",
        "transactions_shown",
        "request_hash",
    ]

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Consent], search_term: str
    ) -> tuple[QuerySet[Consent], bool]:
        """Search by the ID of a consent or a wallet, by client ID, or by part of the requester's name."""
        term = search_term.strip()
        if not term:
            return queryset, False
        if wanted := as_id(term):  # or a client ID, which has the same form
            with_id = queryset.filter(Q(id=wanted) | Q(wallet_id=wanted))
            return with_id if with_id.exists() else queryset.filter(requester_id=term), False
        return queryset.filter(Q(requester_id=term) | Q(requester__name__icontains=term)), False

    @admin.display(description=_("requester"))
    def requester_name(self, consent: Consent) -> str:
        return str(consent.requester["name"])

    @admin.display(description=_("requester as shown"))
    def requester_shown(self, consent: Consent) -> SafeString:
        return render_to_string("admin/consent/requester.html", {"requester": consent.requester})

    @admin.display(description=_("claims asked for"))
    def claim_names(self, consent: Consent) -> str:
        return ", ".join(".".join(path) for path in consent.claims) or _t("none")

    @admin.display(description=_("of these optional"))
    def optional_names(self, consent: Consent) -> str:
        return ", ".join(".".join(path) for path in consent.optional_claims) or _t("none")

    @admin.display(description=_("optional and switched on"))
    def switched_on_names(self, consent: Consent) -> str:
        return ", ".join(".".join(path) for path in consent.switched_on) or _t("none")

    @admin.display(description=_("told without being shared"))
    def told_names(self, consent: Consent) -> str:
        return ", ".join(".".join(path) for path in consent.told) or _t("none")

    @admin.display(description=_("transactions as shown"))
    def transactions_shown(self, consent: Consent) -> SafeString:
        context = {
            "transactions": transactions.kept(consent),
            "erased_at": consent.erased_at,
            "closed": consent.wallet_id is None,
            "erased_after": transactions.years_until_erased(consent),
        }
        return render_to_string("admin/consent/transactions.html", context)


@admin.register(Report)
class ReportAdmin(ReadOnly, admin.ModelAdmin):
    """What holders reported about requesters, without the holders."""

    seen_with = "presentation.view_relyingparty"
    list_display = ["reported_at", "requester_id", "reason"]
    search_fields = ["=requester_id"]
    ordering = ["-reported_at"]
    fields = ["id", "reported_at", "requester_id", "reason", "text"]

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Whoever may see reports, since no role with `seen_with` has a permission of this app."""
        return self.has_view_permission(request)

    @admin.display(description=_("What the holder wrote"))
    def text(self, report: Report) -> str:
        if not report.sealed_text:
            return _t("nothing")
        try:
            return unseal_column(report, "sealed_text").decode()
        except SealError:
            return _t("It cannot be opened.")
