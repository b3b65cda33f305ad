"""The admin pages of identity checks. What operators look at is in the audit record."""

from typing import Any, cast
from uuid import UUID

from django.contrib import admin, messages
from django.contrib.auth.models import AbstractUser
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext_lazy as _

from infra.admin.read_only import ReadOnly
from infra.admin.row_ids import short_id
from infra.audit.recording import record
from infra.sealing import SealError
from wallet.admin.operated import REFUSALS, OperatedAdmin
from wallet.identity import pictures, review
from wallet.identity.dossier import dossier, pictures_of
from wallet.models import IdentityVerification, IdentityVerificationTransition, Picture
from wallet.operations.verifications import OF_VERIFICATIONS
from wallet.providers.in_person import as_case_number


class TransitionInline(ReadOnly, admin.TabularInline):
    """The log of an identity verification."""

    model = IdentityVerificationTransition
    verbose_name_plural = _("log")
    template = "admin/log.html"
    fields = ("at", "came_from", "went_to", "actor", "reason")
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
        picture = Picture.objects.filter(verification=row, id=picture_id).first() if row else None
        if row is None or picture is None or not self.has_permission_to(request, "change"):
            raise Http404
        if not review.is_claimed_by(row, operator):
            raise PermissionDenied
        record(operator, "picture_seen", row)
        try:
            jpeg = pictures.opened(picture)
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
            record(request, "claims_seen", row)
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
            record(operator, "claims_seen", row)
        response = super().confirm(request, name, object_id)
        if row is not None and in_review and isinstance(response, TemplateResponse):
            response.context_data = {**(response.context_data or {}), "pictures": pictures_of(row)}
        return response
