"""The admin of interactions, which is read-only."""

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _t
from django.utils.translation import gettext_lazy as _

from infra.admin.read_only import FilteredOnly, ReadOnly
from infra.admin.row_ids import as_id, short_id
from presentation.models import Interaction, RelyingParty
from presentation.requests.delivery import deliveries
from presentation.requests.delivery.deliveries import DeliveryState


@admin.register(Interaction)
class InteractionAdmin(FilteredOnly, ReadOnly, admin.ModelAdmin):
    """Shows operators the outcome of requests; it never shows the parameters (e-mail address, payment)."""

    list_display = (short_id, "relying_party", "created_at", "outcome", "error")
    list_filter = ("outcome", "expires_at")
    search_fields = ("id",)  # shows the search form; `get_search_results` does the search
    search_help_text = _("Interaction ID, a relying party’s name or client ID, or an error code")
    list_select_related = ("relying_party",)
    ordering = ("-expires_at",)  # which has an index
    sortable_by = ()
    fields = (
        "id",
        "relying_party",
        "redirect_uri",
        "response_uri",
        "outcome",
        "error",
        "created_at",
        "expires_at",
        "answered_at",
        "posted",
    )

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Interaction], search_term: str
    ) -> tuple[QuerySet[Interaction], bool]:
        """By what an index finds, because the table keeps more than a year."""
        term = search_term.strip()
        named = RelyingParty.objects.filter(Q(name__icontains=term) | Q(client_id=term))
        if not term:
            return queryset, False
        if parties := list(named.values_list("pk", flat=True)):
            return queryset.filter(relying_party__in=parties), False
        if wanted := as_id(term):
            return queryset.filter(id=wanted), False
        return queryset.filter(~Q(outcome=Interaction.Outcome.TOKEN), error=term), False

    @admin.display(description=_("posted"))
    def posted(self, interaction: Interaction) -> str:
        """The delivery of an answer that is posted: when it arrived, or how many tries there were."""
        kept = deliveries.of(interaction)
        if kept is None:
            return "-"
        if kept.delivered_at is not None:
            return _t("arrived at %(at)s") % {"at": date_format(kept.delivered_at, "DATETIME_FORMAT")}
        if deliveries.state_of(kept, now=timezone.now()) is DeliveryState.ENDED:
            return _t("has not arrived and is gone; tried %(tries)s times") % {"tries": kept.tries}
        return _t("has not arrived; tried %(tries)s times") % {"tries": kept.tries}

    def get_queryset(self, request: HttpRequest) -> QuerySet[Interaction]:
        """Defers the parameters, so that no page shows them by accident."""
        return super().get_queryset(request).defer("parameters", "sealed_transaction_data")
