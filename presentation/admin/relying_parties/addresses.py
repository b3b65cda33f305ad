"""The registered addresses, edited on the page of their relying party."""

from typing import Any, ClassVar

from django.contrib import admin
from django.core.exceptions import ValidationError
from django.forms import BaseInlineFormSet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from presentation.models import CertifiedClientID, RedirectURI, RelyingParty, ResponseURI
from presentation.relying_parties.metadata.redirect_uris import problem_with_start


class RedirectURIFormSet(BaseInlineFormSet):
    default_error_messages: ClassVar = {"too_few_forms": _("Add at least one redirect URI.")}

    def clean(self) -> None:
        """The address where requests begin depends on these, so it is checked here."""
        super().clean()
        kept = [form for form in self.forms if form not in self.deleted_forms and form.is_valid()]
        uris = [form.cleaned_data.get("uri", "") for form in kept]
        if problem := problem_with_start(self.instance.initiate_login_uri, uris):
            raise ValidationError(problem)


class _AddressInline(admin.StackedInline):
    """Forms for addresses. Their number is limited, whatever TOTAL_FORMS of the request says."""

    extra = 0
    max_num = 25
    most_added = 25  # at once, beyond those that are registered already

    def get_formset(self, request: HttpRequest, obj: RelyingParty | None = None, **kwargs: Any) -> Any:
        registered = self.model._default_manager.filter(relying_party=obj).count() if obj else 0
        most = max(self.max_num, registered) + self.most_added
        return super().get_formset(request, obj, absolute_max=most, **kwargs)


class RedirectURIInline(_AddressInline):
    model = RedirectURI
    formset = RedirectURIFormSet
    min_num = 1

    def get_formset(self, request: HttpRequest, obj: RelyingParty | None = None, **kwargs: Any) -> Any:
        """Requires one form: without a redirect URI a relying party gets no answers."""
        return super().get_formset(request, obj, validate_min=True, **kwargs)


class _InlineWithoutPermissions(_AddressInline):
    """Has the permissions of relying parties, because its rows have none of their own."""

    def has_view_permission(self, request: HttpRequest, obj: RelyingParty | None = None) -> bool:
        return request.user.has_perm("presentation.view_relyingparty")

    def has_add_permission(self, request: HttpRequest, obj: RelyingParty | None = None) -> bool:
        return request.user.has_perm(f"presentation.{'change' if obj else 'add'}_relyingparty")

    has_change_permission = has_delete_permission = has_add_permission


class ResponseURIInline(_InlineWithoutPermissions):
    model = ResponseURI


class CertifiedClientIDInline(_InlineWithoutPermissions):
    model = CertifiedClientID
    classes = ("collapse",)
