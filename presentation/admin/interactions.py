"""The admin of interactions, which is read-only."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _t
from django.utils.translation import gettext_lazy as _

from infra.admin.read_only import FilteredOnly, ReadOnly
from infra.admin.row_ids import short_id
from presentation.models import Interaction
from presentation.requests.delivery import deliveries
from presentation.requests.delivery.deliveries import Standing


@admin.register(Interaction)
class InteractionAdmin(FilteredOnly, ReadOnly, admin.ModelAdmin):
    """Shows operators the outcome of requests; it never shows the parameters (e-mail address, payment)."""

    list_display = (short_id, "relying_party", "created_at", "outcome", "error")
    list_filter = ("outcome", "error", "created_at")
    search_fields = ("=id", "relying_party__name", "=relying_party__client_id")
    search_help_text = _("Interaction ID, or a relying party’s name or client ID")
    list_select_related = ("relying_party",)
    ordering = ("-created_at",)
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

    @admin.display(description=_("posted"))
    def posted(self, interaction: Interaction) -> str:
        """The delivery of an answer that is posted: when it arrived, or how many tries there were."""
        kept = deliveries.of(interaction)
        if kept is None:
            return "-"
        if kept.delivered_at is not None:
            return _t("arrived at %(at)s") % {"at": date_format(kept.delivered_at, "DATETIME_FORMAT")}
        if deliveries.standing(kept, now=timezone.now()) is Standing.ENDED:
            return _t("has not arrived and is gone; tried %(tries)s times") % {"tries": kept.tries}
        return _t("has not arrived; tried %(tries)s times") % {"tries": kept.tries}

    def get_queryset(self, request: HttpRequest) -> QuerySet[Interaction]:
        """Defers the parameters, so that no page shows them by accident."""
        return super().get_queryset(request).defer("parameters", "sealed_transaction_data")
