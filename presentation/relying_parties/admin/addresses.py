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
    """Forms of addresses: all that are registered and some more, whatever TOTAL_FORMS says."""

    extra = 0
    max_num = 25
    most_added = 25  # at once, where more than `max_num` are registered already

    def get_formset(self, request: HttpRequest, obj: RelyingParty | None = None, **kwargs: Any) -> Any:
        registered = self.model._default_manager.filter(relying_party=obj).count() if obj else 0
        most = max(self.max_num, registered) + self.most_added
        return super().get_formset(request, obj, absolute_max=most, **kwargs)


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
