"""The admin page of the audit record: who did what, newest first. Reading it is itself recorded."""

import json

from django.contrib import admin
from django.contrib.auth import get_user_model
from django.db.models import OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce, Concat, NullIf, Trim
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from infra.admin.read_only import FilteredOnly, ReadOnly
from infra.models import AuditLine


@admin.register(AuditLine)
class AuditLineAdmin(FilteredOnly, ReadOnly, admin.ModelAdmin):
    """Shown to operators who may read the history of the admin."""

    seen_with = "admin.view_logentry"
    list_display = ("seq", "at", "operator", "action", "about", "reason")
    fields = (
        "seq",
        "at",
        "operator",
        "operator_id",
        "action",
        "about",
        "reason",
        "text",
        "hash",
    )
    list_filter = ("at",)
    search_fields = ("=about", "=action", "=operator_id")
    search_help_text = _("As in wallet.wallet:ID, the action, or the operator’s ID")
    list_per_page = 50

    def get_queryset(self, request: HttpRequest) -> QuerySet[AuditLine]:
        """Each line with the present name of its operator; the line itself has the ID only."""
        operator = get_user_model().objects.filter(pk=OuterRef("operator_id"))
        names = operator.annotate(
            full=Trim(Concat("first_name", Value(" "), "last_name")),
            name=Coalesce(NullIf("full", Value("")), "username"),
        )
        lines: QuerySet[AuditLine] = super().get_queryset(request)
        return lines.annotate(operator_name=Subquery(names.values("name")))

    @admin.display(description=_("operator"), ordering="operator_id")
    def operator(self, line: AuditLine) -> str:
        """The name, or the ID of an account that is gone."""
        return str(getattr(line, "operator_name", None) or line.operator_id or "")

    @admin.display(description=_("reason"))
    def reason(self, line: AuditLine) -> str:
        """What the operator typed, from the text of the line."""
        try:
            return str(json.loads(line.text)["reason"])
        except (ValueError, LookupError, TypeError):  # somebody has changed the text
            return ""

    def has_module_permission(self, request: HttpRequest) -> bool:
        """The start page lists it for auditors, who have no other permission in this app."""
        return self.has_view_permission(request)
