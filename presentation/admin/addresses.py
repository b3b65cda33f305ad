"""Where answers may go, edited with the relying party they belong to."""

from typing import Any, ClassVar

from django.contrib import admin
from django.forms import BaseInlineFormSet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from presentation.models import RedirectURI, RelyingParty, ResponseURI


class RedirectURIFormSet(BaseInlineFormSet):
    default_error_messages: ClassVar = {"too_few_forms": _("Add at least one redirect URI.")}


class _AddressInline(admin.StackedInline):
    """Forms of addresses, as many as an operator may need and no more, whatever TOTAL_FORMS says."""

    extra = 0
    max_num = 25
    absolute_max = 50  # all that are registered, should there ever be more of them, and what is added

    def get_formset(self, request: HttpRequest, obj: RelyingParty | None = None, **kwargs: Any) -> Any:
        return super().get_formset(request, obj, absolute_max=self.absolute_max, **kwargs)


class RedirectURIInline(_AddressInline):
    model = RedirectURI
    formset = RedirectURIFormSet
    min_num = 1

    def get_formset(self, request: HttpRequest, obj: RelyingParty | None = None, **kwargs: Any) -> Any:
        """A relying party without a redirect URI could never get an answer."""
        return super().get_formset(request, obj, validate_min=True, **kwargs)


class ResponseURIInline(_AddressInline):
    """Whoever may register relying parties may say where their answers are posted."""

    model = ResponseURI

    def has_view_permission(self, request: HttpRequest, obj: RelyingParty | None = None) -> bool:
        return request.user.has_perm("presentation.view_relyingparty")

    def has_add_permission(self, request: HttpRequest, obj: RelyingParty | None = None) -> bool:
        return request.user.has_perm(f"presentation.{'change' if obj else 'add'}_relyingparty")

    def has_change_permission(self, request: HttpRequest, obj: RelyingParty | None = None) -> bool:
        return self.has_add_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: RelyingParty | None = None) -> bool:
        return self.has_add_permission(request, obj)
