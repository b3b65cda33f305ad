"""The operators' pages for wallets: look up, suspend, review identities, revoke.

Rows are read only, apart from the operations, each confirmed on a page of its own.
"""

import re
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.text import capfirst
from django.utils.translation import gettext as _t
from django.utils.translation import gettext_lazy as _

from infra.admin.operations import OperationsAdmin
from infra.admin.read_only import ReadOnly
from infra.admin.row_ids import pointed_at, short, short_id
from wallet.models import (
    Credential,
    IdentityVerification,
    IdentityVerificationTransition,
    StatusEntry,
    StatusEvent,
    Wallet,
)
from wallet.operations import OF_CREDENTIALS, OF_PRESENTED, OF_VERIFICATIONS, OF_WALLETS, REFUSALS
from wallet.providers.in_person import as_case_number
from wallet.status_lists.standing import standing, unexpired


class OperatedAdmin(ReadOnly, OperationsAdmin):
    """Rows that can be read, and changed by operations only."""

    actions = None
    show_full_result_count = False
    refusals = REFUSALS
    checks_state_first = True

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """By the filters of the page only: `?email__startswith=…` would leaf through people."""
        return lookup.split("__")[0] in self.list_filter

    def message_for(self, row: Any, text: str) -> str:
        return f"{capfirst(self.opts.verbose_name)} {short(row)}: {text}"


@admin.register(Wallet)
class WalletAdmin(OperatedAdmin):
    """Found by the whole address only, so that lists of people cannot be leafed through."""

    operations = OF_WALLETS
    list_display = (short_id, "state", "credential_state", "created_at")
    list_filter = ("state",)
    list_select_related = ("credential",)
    search_fields = ("=email", "=id")
    search_help_text = _("The whole e-mail address, or the wallet’s ID")
    fields = ("id", "email", "state", "suspension_reason", "credential_state", "created_at")
    readonly_fields = fields

    @admin.display(description=_("credential"))
    def credential_state(self, wallet: Wallet) -> str:
        """Whether there is a credential, and in which state."""
        credential = getattr(wallet, "credential", None)
        return credential.get_state_display() if credential else _t("none")


class TransitionInline(ReadOnly, admin.TabularInline):
    """The log of an attempt."""

    model = IdentityVerificationTransition
    verbose_name_plural = _("log")
    template = "admin/log.html"
    fields = ("at", "came_from", "went_to", "actor", "reason")
    readonly_fields = fields
    extra = max_num = 0
    can_delete = False
    ordering = ("-at", "-id")

    def get_formset(self, request: HttpRequest, obj: Any = None, **kwargs: Any) -> Any:
        """Nothing is typed in here, so no forms are made for what a browser claims to send."""
        return super().get_formset(request, obj, absolute_max=0, **kwargs)

    @admin.display(description=_("from"))
    def came_from(self, transition: IdentityVerificationTransition) -> str:
        """The state before, as people call it; none before the first."""
        return _name_of_state(transition.from_state)

    @admin.display(description=_("to"))
    def went_to(self, transition: IdentityVerificationTransition) -> str:
        return _name_of_state(transition.to_state)


def _name_of_state(state: str) -> str:
    return str(IdentityVerification.State(state).label) if state else ""


@admin.register(IdentityVerification)
class IdentityVerificationAdmin(OperatedAdmin):
    """Attempts and their logs; those in review are decided here."""

    operations = OF_VERIFICATIONS
    list_display = (short_id, "state", "reason", "submissions", "created_at", "changed_at")
    list_filter = ("state",)
    search_fields = ("=id", "=wallet__id", "=wallet__email", "=provider_reference")
    search_help_text = _(
        "Case number, ID of the attempt or the wallet, the whole e-mail address, or the provider’s reference"
    )
    fields = (
        *("id", "wallet", "state", "reason", "submissions"),
        *("provider", "provider_reference", "created_at", "changed_at"),
    )
    readonly_fields = fields
    inlines = (TransitionInline,)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[IdentityVerification], search_term: str
    ) -> tuple[QuerySet[IdentityVerification], bool]:
        """A case number is found however it was typed in."""
        return super().get_search_results(request, queryset, as_case_number(search_term) or search_term)


@admin.register(Credential)
class CredentialAdmin(OperatedAdmin):
    """Credentials, without what they say."""

    operations = OF_CREDENTIALS
    list_display = (short_id, "state", "issued_at", "expires_at")
    list_filter = ("state",)
    search_fields = ("=id", "=wallet__id", "=wallet__email")
    search_help_text = _("ID of the credential or the wallet, or the whole e-mail address")
    fields = ("id", "wallet", "verification", "state", "issued_at", "expires_at")
    readonly_fields = fields


@admin.register(StatusEntry)
class StatusEntryAdmin(OperatedAdmin):
    """What was presented and has not ended: found by what its token says, or by where it came from."""

    operations = OF_PRESENTED
    permitted_with = "credential"
    state_field = "status"
    list_display = ("__str__", "stands", "expires_at")
    list_display_links = ("__str__",)
    search_fields = ("id",)  # what is searched: `get_search_results`
    search_help_text = _("List and index, as in 7/123456, or the ID of a receipt, credential, wallet or key")
    fields = ("__str__", "stands", "status", "credential", "signing_key", "reference", "expires_at")
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[StatusEntry]:
        return unexpired(timezone.now()).select_related("credential__wallet", "signing_key")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[StatusEntry], search_term: str
    ) -> tuple[QuerySet[StatusEntry], bool]:
        term = search_term.strip()
        if place := re.fullmatch(r"(\d{1,18})[/# ]+(\d{1,9})", term):
            return queryset.filter(status_list=int(place[1]), idx=int(place[2])), False
        try:
            wanted = UUID(term)
        except ValueError:
            return (queryset.none() if term else queryset), False
        presented = Q(credential=wanted) | Q(credential__wallet=wanted)
        return queryset.filter(presented | Q(reference=wanted) | Q(signing_key=wanted)), False

    @admin.display(description=_("stands"))
    def stands(self, entry: StatusEntry) -> str:
        """Its status as published: what follows from its credential, wallet and key included."""
        return str(standing(entry).label)


@admin.register(StatusEvent)
class StatusEventAdmin(ReadOnly, admin.ModelAdmin):
    """Who took back, suspended or reinstated what, and why: to be read by whoever may see credentials."""

    list_display = ("at", "action", "subject", "which", "hit", "actor", "reason")
    fields = readonly_fields = ("at", "action", "subject", "subject_id", "count", "actor", "reason")
    list_filter = ("action", "subject")
    search_fields = ("=subject_id", "=actor")
    search_help_text = _("The whole ID, or who did it")
    show_full_result_count = False
    actions = None

    @admin.display(description=_("ID"), ordering="subject_id")
    def which(self, event: StatusEvent) -> str:
        """The beginning of the ID of what was changed."""
        return pointed_at(event.subject_id)

    @admin.display(description=_("hit"), ordering="count")
    def hit(self, event: StatusEvent) -> int:
        """How many presented credentials; its own page says so in full."""
        return event.count

    def has_view_permission(self, request: HttpRequest, obj: StatusEvent | None = None) -> bool:
        return request.user.has_perm("wallet.view_credential")
