"""The admin page of the audit record: who did what, newest first. Reading it is itself recorded."""

import json
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from infra.admin.read_only import FilteredOnly, ReadOnly
from infra.models import AuditLine


@admin.register(AuditLine)
class AuditLineAdmin(FilteredOnly, ReadOnly, admin.ModelAdmin):
    """Shown to operators who may read the history of the admin."""

    list_display = ("seq", "at", "operator_id", "action", "about", "reason")
    fields = readonly_fields = ("seq", "at", "operator_id", "action", "about", "reason", "text", "hash")
    list_filter = ("at",)
    search_fields = ("=about", "=action", "=operator_id")
    search_help_text = _("As in wallet.wallet:ID, the action, or the operator’s ID")
    list_per_page = 50
    show_full_result_count = False
    actions = None

    @admin.display(description=_("reason"))
    def reason(self, line: AuditLine) -> str:
        """What the operator typed, from the text of the line."""
        try:
            return str(json.loads(line.text)["reason"])
        except (ValueError, LookupError, TypeError):  # somebody has changed the text
            return ""

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("admin.view_logentry")

    def has_module_permission(self, request: HttpRequest) -> bool:
        """The start page lists it for auditors, who have no other permission in this app."""
        return self.has_view_permission(request)
