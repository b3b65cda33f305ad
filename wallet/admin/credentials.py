"""The admin pages of credentials, of presented credentials, and of the history of their status."""

import re
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from infra.admin.read_only import ReadOnly
from infra.admin.row_ids import as_id, pointed_at, short_id
from infra.typed_digits import plain
from wallet.admin.operated import OperatedAdmin
from wallet.credential.validity import Validity, for_operators
from wallet.models import Credential, StatusEntry, StatusEvent
from wallet.operations.credentials import OF_CREDENTIALS, OF_PRESENTED
from wallet.status_lists.statuses import status_of, unexpired


class ValidityFilter(admin.SimpleListFilter):
    """By state and end; only the list itself says which valid ones cannot be opened."""

    title = _("state")
    parameter_name = "validity"
    words = (Validity.VALID, Validity.EXPIRED, Validity.SUSPENDED, Validity.REVOKED)

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(word.value, str(word.label)) for word in self.words]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Credential]) -> QuerySet[Credential]:
        if self.value() not in self.words:
            return queryset
        ended = Q(expires_at__lte=timezone.now())
        if self.value() == Validity.EXPIRED:
            return queryset.filter(ended, state=Credential.State.VALID)
        rows = queryset.filter(state=self.value())
        return rows.exclude(ended | Q(sealed_identity=b"")) if self.value() == Validity.VALID else rows


@admin.register(Credential)
class CredentialAdmin(OperatedAdmin):
    """Credentials, without their claims."""

    operations = OF_CREDENTIALS
    list_display = (short_id, "is_good_for", "issued_at", "expires_at")
    list_filter = (ValidityFilter,)
    search_fields = ("=id", "=wallet__id", "=wallet__email")
    search_help_text = _("ID of the credential or the wallet, or the whole e-mail address")
    fields = (
        *("id", "wallet", "verification", "is_good_for"),
        *("issued_at", "expires_at", "revoked_at", "erased_at"),
    )

    def state_of(self, row: Credential) -> str:
        return for_operators(row, now=timezone.now())

    @admin.display(description=_("state"))
    def is_good_for(self, credential: Credential) -> str:
        """Valid only if it can be presented: not if it has ended, was erased, or cannot be opened."""
        return self.state_of(credential)


@admin.register(StatusEntry)
class StatusEntryAdmin(OperatedAdmin):
    """Presented credentials that have not expired, found by list and index or by a related ID."""

    operations = OF_PRESENTED
    permitted_with = "credential"
    state_field = "status"
    list_display = ("__str__", "stands", "expires_at")
    list_display_links = ("__str__",)
    search_fields = ("id",)  # shows the search form; `get_search_results` does the search
    search_help_text = _("List and index, as in 7/123456, or the ID of a receipt, credential, wallet or key")
    fields = ("__str__", "stands", "status", "credential", "signing_key", "reference", "expires_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[StatusEntry]:
        return unexpired(timezone.now()).select_related("credential__wallet", "signing_key")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[StatusEntry], search_term: str
    ) -> tuple[QuerySet[StatusEntry], bool]:
        term = plain(search_term)
        if place := re.fullmatch(r"([0-9]{1,18})[/# ]+([0-9]{1,9})", term):
            return queryset.filter(status_list=int(place[1]), idx=int(place[2])), False
        if not (wanted := as_id(term)):
            return (queryset.none() if term else queryset), False
        presented = Q(credential=wanted) | Q(credential__wallet=wanted)
        return queryset.filter(presented | Q(reference=wanted) | Q(signing_key=wanted)), False

    @admin.display(description=_("status"))
    def stands(self, entry: StatusEntry) -> str:
        """The published status, which also depends on the credential, the wallet and the key."""
        return str(status_of(entry).label)


@admin.register(StatusEvent)
class StatusEventAdmin(ReadOnly, admin.ModelAdmin):
    """The history of status changes, for operators who may view credentials."""

    seen_with = "wallet.view_credential"
    list_display = ("at", "action", "subject", "which", "hit", "actor", "reason")
    fields = ("at", "action", "subject", "subject_id", "count", "actor", "reason")
    list_filter = ("action", "subject")
    search_fields = ("=subject_id", "=actor")
    search_help_text = _("The whole ID, or who did it")

    @admin.display(description=_("ID"), ordering="subject_id")
    def which(self, event: StatusEvent) -> str:
        """The first characters of the ID of the changed object."""
        return pointed_at(event.subject_id)

    @admin.display(description=_("credentials affected"), ordering="count")
    def hit(self, event: StatusEvent) -> int:
        """The number of presented credentials that changed."""
        return event.count
