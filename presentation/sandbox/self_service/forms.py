"""What developers type to register their own application in the sandbox."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from presentation.dcql.queries import SCOPES, claims_of
from presentation.models import RelyingParty
from presentation.sandbox.self_service import assumed_names
from presentation.sandbox.self_service.self_registrations import MOST_REDIRECT_URIS, Details
from presentation.transaction_data.types import TYPES
from wallet.claims import labels
from wallet.forms import EmailForm


class DeveloperEmailForm(EmailForm):
    """The address a developer comes back with."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["email"].help_text = _("We send a link there, now and whenever you come back.")


class SelfRegistrationForm(forms.Form):
    """A relying party as its developer describes it."""

    name = forms.CharField(
        label=_("Name of your application"),
        help_text=_("Shown to people with “(sandbox, unverified)” after it."),
        max_length=assumed_names.LONGEST,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        error_messages={"required": _("Enter a name.")},
    )
    redirect_uris = forms.CharField(
        label=_("Redirect URIs"),
        help_text=_("Where answers go, one per line, such as http://127.0.0.1:5000/callback."),
        max_length=MOST_REDIRECT_URIS * 502,
        widget=forms.Textarea(
            attrs={"rows": 3, "class": "mono", "autocomplete": "off", "spellcheck": "false"}
        ),
        error_messages={"required": _("Name at least one redirect URI.")},
    )
    allowed_scopes = forms.MultipleChoiceField(
        label=_("What it may ask"),
        choices=[(scope, ", ".join(map(str, labels(claims_of(scope))))) for scope in SCOPES],
        initial=list(SCOPES),
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": _("Choose at least one scope.")},
    )
    allowed_transaction_data_types = forms.MultipleChoiceField(
        label=_("Transactions it may ask to approve"),
        choices=[(urn, kind.title) for urn, kind in TYPES.items()],
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    wire_format = forms.ChoiceField(
        label=_("Form of the answer"),
        choices=[
            (RelyingParty.WireFormat.STRING, _("vp_token is the token itself")),
            (RelyingParty.WireFormat.OPENID4VP_1_0, _("OpenID4VP 1.0: vp_token is a JSON object")),
        ],
        initial=RelyingParty.WireFormat.STRING,
        widget=forms.RadioSelect,
    )

    @classmethod
    def initial_for(cls, party: RelyingParty) -> dict[str, Any]:
        """What the form shows of a registered one."""
        return {
            "name": assumed_names.unmarked(party.name),
            "redirect_uris": "\n".join(row.uri for row in party.redirect_uris.all()),
            "allowed_scopes": party.allowed_scopes,
            "allowed_transaction_data_types": party.allowed_transaction_data_types,
            "wire_format": party.wire_format,
        }

    def clean_redirect_uris(self) -> list[str]:
        """One per line, each once."""
        return list(dict.fromkeys(self.cleaned_data["redirect_uris"].split()))

    def details(self) -> Details:
        """What was chosen, once the form is valid."""
        return Details(**self.cleaned_data)

    def refuse(self, error: ValidationError) -> None:
        """Say what the use case found wrong, at the field where it can be mended."""
        fields = error.message_dict if hasattr(error, "error_dict") else {"__all__": error.messages}
        for field, messages in fields.items():
            self.add_error(field if field in self.fields else None, ValidationError(messages))
