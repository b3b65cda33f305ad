"""The forms with which developers register their own application in the sandbox."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from infra.outbound import targets
from presentation.dcql.queries import BASIC
from presentation.models import RelyingParty
from presentation.relying_parties.forms import CheckboxesField, KeySetField
from presentation.relying_parties.recognition import SUB, Sub, sub_of
from presentation.scopes import choices
from presentation.transaction_data.types import TYPES
from presentation.webhooks.models import WebhookEvent
from sandbox.self_service import assumed_names
from sandbox.self_service.details import MOST_URIS
from wallet.sign_in.forms import EmailForm


class DeveloperEmailForm(EmailForm):
    """The e-mail address of a developer who signs in."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["email"].help_text = _("We send a link there, now and whenever you come back.")


REQUIREMENTS = {
    "requires_pushed_requests": _("All that were not pushed"),
    "requires_signed_requests": _("All that were not signed with one of its keys"),
}
ACCEPTED = {
    "may_omit_login_hint": _("Those without login_hint: the person enters the e-mail address"),
    "pkce_or_nonce": _(
        "Of OpenID Connect: those with a nonce and without PKCE. Only your application can then notice a "
        "stolen code, by comparing the nonce"
    ),
}


def _code(**attributes: Any) -> dict[str, Any]:
    """Widget attributes of a field for code: monospaced, without completion and spell check."""
    return {"class": "mono", "autocomplete": "off", "spellcheck": "false", **attributes}


def _address(label: Any, help_text: Any) -> forms.CharField:
    """One address, which may be left out."""
    widget, longest = forms.TextInput(attrs=_code()), targets.LONGEST
    return forms.CharField(
        label=label, help_text=help_text, max_length=longest, required=False, widget=widget
    )


class AddressesField(forms.CharField):
    """Addresses, one per line; its value is a list without duplicates."""

    def clean(self, value: Any) -> list[str]:
        return list(dict.fromkeys(super().clean(value).split()))


class SelfRegistrationForm(forms.Form):
    """The developer's choices for a relying party: first the fields for all, then `FURTHER`, for some."""

    FURTHER = (
        *(
            "allowed_claims",
            "response_uris",
            "jwks",
            "requirements",
            "accepted",
            "request_uri_prefix",
        ),
        *("initiate_login_uri", "webhook_url", "webhook_events"),
    )

    name = forms.CharField(
        label=_("Name of your application"),
        help_text=_("Shown to people with “(sandbox, unverified)” after it."),
        max_length=assumed_names.LONGEST,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        error_messages={"required": _("Enter a name.")},
    )
    redirect_uris = AddressesField(
        label=_("Redirect URIs"),
        help_text=_("Where answers go, one per line, such as http://127.0.0.1:5000/callback."),
        max_length=MOST_URIS * 502,
        widget=forms.Textarea(attrs=_code(rows=3)),
        error_messages={"required": _("Name at least one redirect URI.")},
    )
    allowed_scopes = forms.MultipleChoiceField(
        label=_("What it may ask"),
        choices=choices.with_claims,
        initial=[BASIC],
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": _("Choose at least one scope.")},
    )
    allowed_transaction_data_types = CheckboxesField(
        label=_("Transactions it may ask to approve"),
        choices=[(urn, kind.title) for urn, kind in TYPES.items()],
        initial=list(TYPES),
    )
    wire_format = forms.ChoiceField(
        label=_("Form of the answer"),
        choices=[
            (RelyingParty.WireFormat.STRING, _("vp_token is the token itself")),
            (RelyingParty.WireFormat.OPENID4VP_1_0, _("OpenID4VP 1.0: vp_token is a JSON object")),
            (RelyingParty.WireFormat.OPENID_CONNECT, _("OpenID Connect: your server exchanges a code")),
        ],
        initial=RelyingParty.WireFormat.STRING,
        widget=forms.RadioSelect,
    )
    id_token_signed_response_alg = forms.ChoiceField(
        label=_("Signature of ID tokens"),
        help_text=_("Of OpenID Connect. RS256 is for products that know nothing else."),
        choices=RelyingParty.IdTokenAlgorithm.choices,
        initial=RelyingParty.IdTokenAlgorithm.ES256,
        required=False,
        widget=forms.RadioSelect,
    )
    number = forms.ChoiceField(
        label=_("Number of a person (sub, and pairwise_subject)"),
        help_text=_("In production the operator decides. Try here what your application does with either."),
        choices=[
            (value, format_lazy("{called}. {meaning}", called=called, meaning=meaning))
            for value, (called, meaning) in SUB.items()
        ],
        initial=Sub.SAME,
        widget=forms.RadioSelect,
    )
    allowed_claims = CheckboxesField(
        label=_("Single claims"),
        help_text=_(
            "For dcql_query, and profile, email and claims of OpenID Connect. None: those from above."
        ),
        choices=choices.PERMISSIONS,
    )
    response_uris = AddressesField(
        label=_("Response URIs"),
        help_text=_("Where answers may be posted (direct_post), one per line."),
        max_length=MOST_URIS * 502,
        required=False,
        widget=forms.Textarea(attrs=_code(rows=2)),
    )
    jwks = KeySetField(
        label=_("Public keys"),
        help_text=_("A JWK set of P-256 keys, each with a kid: for private_key_jwt and signed requests."),
        max_length=10_000,
        required=False,
        widget=forms.Textarea(attrs=_code(rows=4)),
        error_messages={"invalid": _("This is not JSON.")},
    )
    requirements = CheckboxesField(
        label=_("Requests that are refused"),
        choices=list(REQUIREMENTS.items()),
    )
    accepted = CheckboxesField(
        label=_("Requests that are accepted too"),
        choices=list(ACCEPTED.items()),
    )
    request_uri_prefix = _address(
        _("Address of signed requests"),
        _("Where they are fetched (request_uri): one address, or all below one that ends with /."),
    )
    initiate_login_uri = _address(
        _("Where requests begin"),
        _("initiate_login_uri, where people begin again after a long check: https, on a host of the above."),
    )
    webhook_url = _address(
        _("Address for webhooks"),
        _("Nothing is sent before there is a webhook secret: you make it on the next page."),
    )
    webhook_events = CheckboxesField(
        label=_("Events to receive"),
        choices=WebhookEvent.Type.choices,
    )

    @property
    def is_further_open(self) -> bool:
        """Whether the page shows the further fields unfolded, because one has a value or an error."""
        algorithm = self["id_token_signed_response_alg"]
        by_rsa = algorithm.value() == RelyingParty.IdTokenAlgorithm.RS256
        return by_rsa or any(self[name].value() or self[name].errors for name in self.FURTHER)

    @classmethod
    def initial_for(cls, party: RelyingParty) -> dict[str, Any]:
        """The initial values for a registered relying party."""
        as_they_are = (
            *("allowed_scopes", "allowed_transaction_data_types", "wire_format", "allowed_claims", "jwks"),
            *("request_uri_prefix", "initiate_login_uri", "webhook_url", "webhook_events"),
            "id_token_signed_response_alg",
        )
        return {
            "name": assumed_names.unmarked(party.name),
            "redirect_uris": "\n".join(row.uri for row in party.redirect_uris.all()),
            "response_uris": "\n".join(row.uri for row in party.response_uris.all()),
            "requirements": [name for name in REQUIREMENTS if getattr(party, name)],
            "accepted": [name for name in ACCEPTED if getattr(party, name)],
            "number": sub_of(party),
            **{name: getattr(party, name) for name in as_they_are},
        }

    def clean_id_token_signed_response_alg(self) -> str:
        """ES256 if it was left out."""
        return self.cleaned_data["id_token_signed_response_alg"] or RelyingParty.IdTokenAlgorithm.ES256

    def details(self) -> dict[str, Any]:
        """The choices in a valid form: the fields of a relying party by name, and its addresses."""
        chosen = dict(self.cleaned_data)
        ticked = [*chosen.pop("requirements"), *chosen.pop("accepted")]
        chosen["may_recognise"] = chosen.pop("number") == Sub.SAME
        return chosen | {name: name in ticked for name in (*REQUIREMENTS, *ACCEPTED)}

    def refuse(self, error: ValidationError) -> None:
        """Add the errors that a use case raised to the fields that they are about."""
        fields = error.message_dict if hasattr(error, "error_dict") else {"__all__": error.messages}
        for name, messages in fields.items():
            field = "requirements" if name in REQUIREMENTS else "accepted" if name in ACCEPTED else name
            self.add_error(field if field in self.fields else None, ValidationError(messages))
