"""The operators' side of wallets: look up, suspend, review identities, revoke. Everything is read only
but for the operations, each confirmed on a page of its own and written to the history.
"""

from typing import Any, cast

from django.contrib import admin, messages
from django.contrib.auth.models import AbstractUser
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.translation import gettext as _t
from django.utils.translation import gettext_lazy as _

from wallet.models import Credential, IdentityVerification, IdentityVerificationTransition, Wallet
from wallet.operations import REFUSALS, Operation, offered


class ReadOnly:
    """Nothing can be added, typed in or deleted."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class OperatedAdmin(ReadOnly, admin.ModelAdmin):
    """Rows to be read, and moved by `operations` by those who have the change permission."""

    actions = None
    show_full_result_count = False
    change_form_template = "admin/wallet/change_form.html"

    def get_urls(self) -> list[URLPattern]:
        """Adds the page that asks once more."""
        operate = self.admin_site.admin_view(self.operate)
        name = f"wallet_{self.opts.model_name}_do"
        return [path("<uuid:object_id>/do/<str:name>/", operate, name=name), *super().get_urls()]

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """By the filters of the page only: `?email__startswith=…` would leaf through people."""
        return lookup.split("__")[0] in self.list_filter

    def may_operate(self, request: HttpRequest) -> bool:
        """The change permission; nobody can change a row by typing into it."""
        return cast(AbstractUser, request.user).has_perm(f"wallet.change_{self.opts.model_name}")

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        row = self.get_object(request, object_id)
        operations = offered(row) if row and self.may_operate(request) else {}
        shown = {name: (self._address("do", row, name), op.label) for name, op in operations.items()}
        return super().change_view(request, object_id, form_url, {"operations": shown})

    def operate(self, request: HttpRequest, object_id: Any, name: str) -> HttpResponse:
        """The page that asks once more, and what its button does."""
        if not self.may_operate(request):
            raise PermissionDenied
        row = self.get_object(request, str(object_id))
        if row is None:
            raise Http404
        operation = offered(row).get(name)
        if operation is None:
            self.message_user(request, _t("That cannot be done any more."), messages.WARNING)
            return HttpResponseRedirect(self._address("change", row))
        form = operation.form(request.POST or None, initial=operation.initial(row))
        if form.is_valid():
            self._run(request, row, operation, form.cleaned_data)
            return HttpResponseRedirect(self._address("change", row))
        context = {**self.admin_site.each_context(request), "opts": self.opts, "original": row}
        context |= {"title": operation.label, "operation": operation, "form": form}
        context |= {"back": self._address("change", row)}
        return TemplateResponse(request, "admin/wallet/confirm.html", context)

    def _run(self, request: HttpRequest, row: Model, operation: Operation, said: dict[str, Any]) -> None:
        operator = cast(AbstractUser, request.user)
        try:
            with transaction.atomic():
                operation.run(row, said, operator.get_username(), timezone.now())
                self.log_change(request, row, f"{operation.label}: {said['reason']}")
        except tuple(REFUSALS) as refusal:
            self.message_user(request, str(REFUSALS[type(refusal)]), messages.ERROR)
        else:
            said_so = _t("Done: “%(label)s”, %(row)s.") % {"label": operation.label, "row": row}
            self.message_user(request, said_so, messages.SUCCESS)

    def _address(self, page: str, row: Any, *args: Any) -> str:
        name = f"admin:wallet_{self.opts.model_name}_{page}"
        return reverse(name, args=[row.pk, *args], current_app=self.admin_site.name)


@admin.register(Wallet)
class WalletAdmin(OperatedAdmin):
    """Found by the whole address only, so that lists of people cannot be leafed through."""

    list_display = ("id", "state", "credential_state", "created_at")
    list_filter = ("state",)
    list_select_related = ("credential",)
    search_fields = ("=email", "=id")
    search_help_text = _("The whole e-mail address, or the wallet's ID")
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
    fields = ("at", "from_state", "to_state", "actor", "reason")
    readonly_fields = fields
    extra = 0
    can_delete = False


@admin.register(IdentityVerification)
class IdentityVerificationAdmin(OperatedAdmin):
    """Attempts and their logs; those in review are decided here."""

    list_display = ("id", "state", "reason", "submissions", "created_at", "changed_at")
    list_filter = ("state",)
    search_fields = ("=id", "=wallet__id", "=wallet__email", "=provider_reference")
    search_help_text = _(
        "ID of the attempt or the wallet, the whole e-mail address, or the provider's reference"
    )
    fields = (
        *("id", "wallet", "state", "reason", "submissions"),
        *("provider", "provider_reference", "created_at", "changed_at"),
    )
    readonly_fields = fields
    inlines = (TransitionInline,)


@admin.register(Credential)
class CredentialAdmin(OperatedAdmin):
    """Credentials, without what they say."""

    list_display = ("id", "state", "issued_at", "expires_at")
    list_filter = ("state",)
    search_fields = ("=id", "=wallet__id", "=wallet__email")
    search_help_text = _("ID of the credential or the wallet, or the whole e-mail address")
    fields = ("id", "wallet", "verification", "state", "issued_at", "expires_at")
    readonly_fields = fields
