"""The admin of scopes: list, form, history. The basic scope can be read only."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext as _t
from django.utils.translation import gettext_lazy as _

from presentation.models import RelyingParty, Scope
from presentation.relying_parties.forms import CheckboxesField
from presentation.scopes import choices
from presentation.scopes.records import ScopeError
from wallet.credential.claims import NAMES


def _questions(label: Any) -> forms.CharField:
    return forms.CharField(
        label=label,
        required=False,
        widget=forms.TextInput(attrs={"class": "vTextField", "spellcheck": "false"}),
        help_text=_("Names with spaces between, such as age_equal_or_over.16 nationality_in.EU"),
    )


class ScopeForm(forms.ModelForm):
    """Offers the claims as checkboxes, and a line for those that answer a question."""

    required_claims = CheckboxesField(
        label=_("Required claims"),
        choices=choices.NAMED_CLAIMS,
        help_text=_("A person who says yes shares these."),
    )
    required_questions = _questions(_("Required answers"))
    optional_claims = CheckboxesField(
        label=_("Optional claims"),
        choices=choices.NAMED_CLAIMS,
        help_text=_("The person switches on each of these, or leaves it off."),
    )
    optional_questions = _questions(_("Optional answers"))

    class Meta:
        model = Scope
        fields = ("urn", "title", "required_claims", "optional_claims")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for part in ("required", "optional"):
            names = self.initial.get(f"{part}_claims", ())
            self.initial[f"{part}_questions"] = " ".join(name for name in names if name not in NAMES)

    def clean(self) -> dict[str, Any]:
        """Adds the questions to the claims."""
        cleaned = super().clean() or self.cleaned_data
        for part in ("required", "optional"):
            questions = cleaned.get(f"{part}_questions", "").split()
            cleaned[f"{part}_claims"] = [*cleaned.get(f"{part}_claims", ()), *questions]
        return cleaned


@admin.register(Scope)
class ScopeAdmin(admin.ModelAdmin):
    shows_no_person = True
    form = ScopeForm
    list_display = ("title", "urn", "claims", "changed_at")
    search_fields = ("urn", "title")
    search_help_text = _("URN or title")
    actions = None  # a scope is deleted on its own page, if nobody uses it
    fields = (
        *("urn", "title", "required_claims", "required_questions"),
        *("optional_claims", "optional_questions", "used_by"),
    )
    readonly_fields = ("used_by",)

    @admin.display(description=_("claims"))
    def claims(self, scope: Scope) -> str:
        try:
            return choices.claims_in_words(scope.record)
        except ScopeError as error:
            return _t("not usable: %(part)s %(why)s") % {"part": error.part, "why": error}

    @admin.display(description=_("used by"))
    def used_by(self, scope: Scope) -> str:
        """The relying parties that may request it, and why it cannot be deleted."""
        names = users_of(scope)
        text = _t("%(names)s. While a relying party may request it, it cannot be deleted.")
        return text % {"names": ", ".join(names)} if names else _t("no relying party")

    def get_readonly_fields(self, request: HttpRequest, obj: Scope | None = None) -> tuple[str, ...]:
        """The URN of a saved scope does not change."""
        return ("urn", "used_by") if obj else ("used_by",)

    def has_change_permission(self, request: HttpRequest, obj: Scope | None = None) -> bool:
        return super().has_change_permission(request, obj) and not (obj and obj.is_fixed)

    def has_delete_permission(self, request: HttpRequest, obj: Scope | None = None) -> bool:
        """False for the basic scope, and for one that a relying party may request."""
        may = super().has_delete_permission(request, obj)
        return may and not (obj and (obj.is_fixed or users_of(obj)))


def users_of(scope: Scope) -> list[str]:
    """The names of the relying parties that may request the scope."""
    allowed = RelyingParty.objects.values_list("name", "allowed_scopes").order_by("name")
    return [name for name, scopes in allowed if scope.urn in scopes]
