"""The admin pages of wallets, identity verifications, credentials and presented credentials.

Rows are read-only; operations change them, each after a confirmation page.
"""

import re
from typing import Any, cast
from uuid import UUID

from django.contrib import admin, messages
from django.contrib.auth.models import AbstractUser
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

from infra.admin.operations import OperationsAdmin
from infra.admin.read_only import FilteredOnly, ReadOnly
from infra.admin.row_ids import pointed_at, short, short_id
from infra.sealing import SealError
from wallet import audit
from wallet.audit import Action
from wallet.identity import pictures, review
from wallet.identity.dossier import dossier, pictures_of
from wallet.models import (
    AuditEntry,
    Credential,
    IdentityVerification,
    IdentityVerificationTransition,
    Picture,
    Recovery,
    StatusEntry,
    StatusEvent,
    Wallet,
    WalletClosure,
)
from wallet.operations import (
    OF_CREDENTIALS,
    OF_PRESENTED,
    OF_RECOVERIES,
    OF_VERIFICATIONS,
    OF_WALLETS,
    REFUSALS,
)
from wallet.providers.in_person import as_case_number
from wallet.status_lists.standing import standing, unexpired
from wallet.validity import Validity, for_operators


class OperatedAdmin(FilteredOnly, ReadOnly, OperationsAdmin):
    """Rows that only operations can change."""

    actions = None
    show_full_result_count = False
    refusals = REFUSALS
    checks_state_first = True

    def message_for(self, row: Any, text: str) -> str:
        return f"{capfirst(self.opts.verbose_name)} {short(row)}: {text}"


@admin.register(Wallet)
class WalletAdmin(OperatedAdmin):
    """Wallets. The search takes a whole e-mail address only, so that operators cannot browse holders."""

    operations = OF_WALLETS
    list_display = (short_id, "state", "credential_state", "created_at")
    list_filter = ("state",)
    list_select_related = ("credential",)
    search_fields = ("=email", "=id")
    search_help_text = _("The whole e-mail address, or the wallet’s ID")
    fields = (
        *("id", "email", "state", "suspension_reason", "credential_state"),
        *("created_at", "closes_at", "closed_at"),
    )
    readonly_fields = fields

    @admin.display(description=_("credential"))
    def credential_state(self, wallet: Wallet) -> str:
        """What its credential is good for; “none” if it has none."""
        return for_operators(getattr(wallet, "credential", None), now=timezone.now())


@admin.register(Recovery)
class RecoveryAdmin(OperatedAdmin):
    """Wallets that move, or were to move, to another address after their mailbox was lost."""

    operations = OF_RECOVERIES
    permitted_with = "wallet"
    list_display = (short_id, "state", "reason", "decided_by", "asked_at", "due_at")
    list_filter = ("state",)
    search_fields = ("=id", "=old__id", "=new__id", "=old__email", "=new__email")
    search_help_text = _("ID of the recovery or of a wallet, or the whole e-mail address of one")
    fields = (
        *("id", "state", "reason", "decided_by", "old", "new", "verification"),
        *("asked_at", "matched_at", "due_at", "ended_at", "notices"),
    )
    readonly_fields = fields


class TransitionInline(ReadOnly, admin.TabularInline):
    """The log of an identity verification."""

    model = IdentityVerificationTransition
    verbose_name_plural = _("log")
    template = "admin/log.html"
    fields = ("at", "came_from", "went_to", "actor", "reason")
    readonly_fields = fields
    extra = max_num = 0
    can_delete = False
    ordering = ("-at", "-id")

    def get_formset(self, request: HttpRequest, obj: Any = None, **kwargs: Any) -> Any:
        """Makes no forms, however many the browser claims to submit: nothing can be edited here."""
        return super().get_formset(request, obj, absolute_max=0, **kwargs)

    @admin.display(description=_("from"))
    def came_from(self, transition: IdentityVerificationTransition) -> str:
        """The label of the state before; empty for the first transition."""
        return _name_of_state(transition.from_state)

    @admin.display(description=_("to"))
    def went_to(self, transition: IdentityVerificationTransition) -> str:
        return _name_of_state(transition.to_state)


def _name_of_state(state: str) -> str:
    return str(IdentityVerification.State(state).label) if state else ""


@admin.register(IdentityVerification)
class IdentityVerificationAdmin(OperatedAdmin):
    """Attempts and their logs; those in review are decided here, by the operator who has claimed them."""

    operations = OF_VERIFICATIONS
    list_display = (short_id, "state", "reason", "provider", "claimed_by", "created_at", "changed_at")
    list_filter = ("state", "provider")
    list_select_related = ("claimed_by",)
    search_fields = ("=id", "=wallet__id", "=wallet__email", "=provider_reference")
    search_help_text = _("ID of the attempt or the wallet, the whole e-mail address, or the case number")
    fields = (
        *("id", "wallet", "state", "reason", "submissions", "claimed_by", "claimed_at", "proposed_by"),
        *("approved_by", "provider", "provider_reference", "created_at", "changed_at"),
    )
    readonly_fields = fields
    inlines = (TransitionInline,)
    change_form_template = "admin/wallet/identityverification/change_form.html"

    def get_ordering(self, request: HttpRequest) -> Any:
        """The queue of reviews begins with the oldest."""
        in_review = request.GET.get("state__exact") == IdentityVerification.State.REVIEW
        return ["changed_at"] if in_review else ["-created_at"]

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[IdentityVerification], search_term: str
    ) -> tuple[QuerySet[IdentityVerification], bool]:
        """A case number is found however it was typed in."""
        return super().get_search_results(request, queryset, as_case_number(search_term) or search_term)

    def get_urls(self) -> list[URLPattern]:
        """With the address of a picture, for the operator who has claimed the attempt."""
        view = self.admin_site.admin_view(self.picture)
        own = path("<path:object_id>/pictures/<uuid:picture_id>/", view, name="wallet_picture")
        return [own, *super().get_urls()]

    def picture(self, request: HttpRequest, object_id: str, picture_id: UUID) -> HttpResponse:
        """A picture of the attempt; each look is written down first."""
        row = self.get_object(request, object_id)
        operator = cast(AbstractUser, request.user)
        found = Picture.objects.filter(verification=row, id=picture_id).first() if row else None
        if row is None or found is None or not self.has_permission_to(request, "change"):
            raise Http404
        if not review.is_claimed_by(row, operator):
            raise PermissionDenied
        audit.record(operator, Action.PICTURE_SEEN, row, now=timezone.now())
        try:
            jpeg = pictures.opened(found)
        except SealError:
            raise Http404 from None
        response = HttpResponse(jpeg, content_type="image/jpeg")
        response.headers["Cache-Control"] = "no-store"
        response.headers["Content-Disposition"] = "inline"
        response.headers["Content-Security-Policy"] = "default-src 'none'; sandbox"
        response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
        return response

    def render_change_form(self, request: Any, context: Any, *args: Any, **kwargs: Any) -> HttpResponse:
        row = context.get("original")
        if row and review.is_claimed_by(row, request.user) and self.has_permission_to(request, "change"):
            audit.record(request.user, Action.CLAIMS_SEEN, row, now=timezone.now())
            context["dossier"] = dossier(row)
        return super().render_change_form(request, context, *args, **kwargs)

    def confirm(self, request: HttpRequest, name: str, object_id: str = "") -> HttpResponse:
        """The form of an approval shows claims and pictures: only to the operator who has claimed it."""
        row = self.get_object(request, object_id) if name == "approve" else None
        operator = cast(AbstractUser, request.user)
        in_review = row is not None and row.state == IdentityVerification.State.REVIEW
        if row is not None and in_review and self.has_permission_to(request, "change"):
            if not review.is_claimed_by(row, operator):
                self.message_user(request, str(REFUSALS[review.NotClaimedError]), messages.ERROR)
                return HttpResponseRedirect(self.address(row))
            audit.record(operator, Action.CLAIMS_SEEN, row, now=timezone.now())
        response = super().confirm(request, name, object_id)
        if row is not None and in_review and isinstance(response, TemplateResponse):
            response.context_data = {**(response.context_data or {}), "pictures": pictures_of(row)}
        return response


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnly, admin.ModelAdmin):
    """Which operator looked at what."""

    list_display = ("at", "operator_id", "action", "subject", "subject_id")
    fields = readonly_fields = ("at", "operator_id", "action", "subject", "subject_id")
    list_filter = ("action",)
    search_fields = ("=subject_id", "=operator_id")
    search_help_text = _("The whole ID of the attempt, or the operator’s ID")
    show_full_result_count = False
    actions = None

    def has_view_permission(self, request: HttpRequest, obj: AuditEntry | None = None) -> bool:
        return request.user.has_perm("admin.view_logentry")


@admin.register(WalletClosure)
class WalletClosureAdmin(ReadOnly, admin.ModelAdmin):
    """Which wallets were closed, when, by whom and why. It names nobody."""

    list_display = ("asked_at", "wallet", "reason", "operator_id", "undone_at", "closed_at", "finished_at")
    fields = readonly_fields = (
        *("id", "wallet", "reason", "operator_id", "asked_at", "closes_at"),
        *("undone_at", "undone_by", "closed_at", "finished_at"),
    )
    list_filter = ("reason",)
    search_fields = ("=id", "=wallet", "=operator_id")
    search_help_text = _("The whole ID of the wallet, or the operator’s ID")
    show_full_result_count = False
    actions = None

    def has_view_permission(self, request: HttpRequest, obj: WalletClosure | None = None) -> bool:
        return request.user.has_perm("wallet.view_wallet")


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
        found = queryset.filter(state=self.value())
        return found.exclude(ended | Q(sealed_identity=b"")) if self.value() == Validity.VALID else found


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
    readonly_fields = fields

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

    @admin.display(description=_("status"))
    def stands(self, entry: StatusEntry) -> str:
        """The published status, which also depends on the credential, the wallet and the key."""
        return str(standing(entry).label)


@admin.register(StatusEvent)
class StatusEventAdmin(ReadOnly, admin.ModelAdmin):
    """The history of status changes, for operators who may view credentials."""

    list_display = ("at", "action", "subject", "which", "hit", "actor", "reason")
    fields = readonly_fields = ("at", "action", "subject", "subject_id", "count", "actor", "reason")
    list_filter = ("action", "subject")
    search_fields = ("=subject_id", "=actor")
    search_help_text = _("The whole ID, or who did it")
    show_full_result_count = False
    actions = None

    @admin.display(description=_("ID"), ordering="subject_id")
    def which(self, event: StatusEvent) -> str:
        """The first characters of the ID of the changed object."""
        return pointed_at(event.subject_id)

    @admin.display(description=_("credentials affected"), ordering="count")
    def hit(self, event: StatusEvent) -> int:
        """The number of presented credentials that changed."""
        return event.count

    def has_view_permission(self, request: HttpRequest, obj: StatusEvent | None = None) -> bool:
        return request.user.has_perm("wallet.view_credential")
