"""The forms of the admin: a relying party, a new secret for it, the reason for its suspension."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from django import forms
from django.forms.fields import InvalidJSONInput
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from infra.reasons import ReasonField
from infra.registering import NotRegistrableError
from infra.typed_digits import WholeNumberField
from infra.words import Words
from presentation.models import RelyingParty
from presentation.relying_parties import recognition
from presentation.relying_parties.metadata import logos, public_keys
from presentation.relying_parties.metadata.grants import GRANTS
from presentation.relying_parties.metadata.webhook_event_types import WebhookEventType
from presentation.relying_parties.recognition import Sub
from presentation.scopes import choices
from presentation.transaction_data.types import TYPES
from wallet.credential.evidence import LADDERS
from wallet.providers import registry


class KeySetField(forms.JSONField):
    """A JWK set as text; the field is empty instead of `null` if there is none."""

    def to_python(self, value: Any) -> Any:
        """The JSON value. Django’s own field fails on numbers of thousands of digits and on deep nesting."""
        if not isinstance(value, str) or value in self.empty_values:
            return super().to_python(value)
        try:
            return public_keys.from_json(value)
        except NotRegistrableError:
            raise forms.ValidationError(self.error_messages["invalid"], code="invalid") from None

    def bound_data(self, data: Any, initial: Any) -> Any:
        """The text as it was typed, so that it is shown again even if it is no JSON."""
        return None if data is None else InvalidJSONInput(data)

    def prepare_value(self, value: Any) -> Any:
        return "" if value is None else super().prepare_value(value)


def _assurances(chosen: Iterable[str]) -> list[str]:
    """The choices: what the configured providers reach, the levels of eIDAS, and what is chosen already."""
    reached = (
        str(assurance) for provider in registry.offered().values() for assurance in provider.assurances
    )
    eidas = (f"eidas {level}" for level in LADDERS["eidas"])
    return list(dict.fromkeys([*reached, *eidas, *chosen]))


# What each wire format is called, and what it means in two sentences.
WIRE_FORMATS: dict[RelyingParty.WireFormat, tuple[Words, Words]] = {
    RelyingParty.WireFormat.STRING: (
        _("the contract"),
        _(
            "Its page reads vp_token, the token itself, behind the # of its address. For applications that "
            "were written for this service."
        ),
    ),
    RelyingParty.WireFormat.OPENID4VP_1_0: (
        "OpenID4VP 1.0",
        _(
            "The same, but vp_token is a JSON object, and every answer names the issuer. For libraries and "
            "products that know OpenID4VP."
        ),
    ),
    RelyingParty.WireFormat.OPENID_CONNECT: (
        "OpenID Connect",
        _(
            "Its server exchanges a code for an ID token, and gets vp_token beside it as evidence. For "
            "products that know OpenID Connect; they need a client secret or public keys."
        ),
    ),
}


def wire_formats() -> list[tuple[str, SafeString]]:
    """The choices of the format, each with what it means."""
    return _with_meaning(WIRE_FORMATS)


def numbers() -> list[tuple[str, SafeString]]:
    """The choices of the number of a person, each with what it means."""
    return _with_meaning(recognition.SUB)


def _with_meaning(choices: Mapping[Any, tuple[Words, Words]]) -> list[tuple[str, SafeString]]:
    html = '<span><strong>{}</strong><span class="help"> {}</span></span>'
    return [(value, format_html(html, *words)) for value, words in choices.items()]


class CheckboxesField(forms.MultipleChoiceField):
    """Any number of values, none included; the model requires a value where one is needed."""

    widget = forms.CheckboxSelectMultiple

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, **kwargs)


class RelyingPartyForm(forms.ModelForm):
    """Offers choices for the columns with JSON lists, and an upload for the logo."""

    allowed_scopes = CheckboxesField(label=_("Scopes"), choices=choices.with_urns)
    wire_format = forms.ChoiceField(
        label=_("Format of the answer"),
        choices=wire_formats,
        widget=forms.RadioSelect,
        initial=RelyingParty.WireFormat.STRING,
    )
    number = forms.ChoiceField(
        label=_("Number of a person (sub)"),
        choices=numbers,
        widget=forms.RadioSelect,
        required=False,
        help_text=_(
            "OpenID Connect needs this choice. Other formats may go without; with one number for each "
            "person, they can ask for pairwise_subject."
        ),
    )
    allowed_claims = CheckboxesField(
        label=_("Single claims"),
        choices=choices.NAMED_PERMISSIONS,
        help_text=_(
            "For requests with dcql_query, and for profile, email and claims of OpenID Connect. "
            "With none ticked: those of its scopes."
        ),
    )
    allowed_transaction_data_types = CheckboxesField(
        label=_("Transaction data"),
        choices=[(urn, urn) for urn in TYPES],
        initial=list(TYPES),
        help_text=_("With none ticked, every request that carries transaction data is refused."),
    )
    id_token_signed_response_alg = forms.ChoiceField(
        label=_("Signature of ID tokens"),
        choices=RelyingParty.IdTokenAlgorithm.choices,
        initial=RelyingParty.IdTokenAlgorithm.ES256,
        required=False,
        help_text=RelyingParty._meta.get_field("id_token_signed_response_alg").help_text,
    )
    minimum_assurance = CheckboxesField(
        label=_("Minimum assurance"),
        help_text=_(
            "How well holders must be verified: this level of the trust framework or a higher one. With "
            "several ticked, one of them is enough; with none, any verified identity will do."
        ),
    )
    grants = CheckboxesField(
        label=_("Access tokens"),
        choices=[
            (scope, format_lazy("{what} ({scope})", what=what, scope=scope)) for scope, what in GRANTS.items()
        ],
        help_text=_("What its server may do here. With none ticked it gets no access token."),
    )
    webhook_events = CheckboxesField(
        label=_("Events"),
        choices=WebhookEventType.choices,
        help_text=_("The events that are sent to it. No event carries claims."),
    )
    logo_file = forms.FileField(
        label=_("New logo"),
        required=False,
        widget=forms.FileInput(attrs={"accept": "image/png,image/jpeg,image/webp"}),
        help_text=_("PNG, JPEG or WebP, at most 64 kB and 2048 × 2048 pixels."),
    )
    remove_logo = forms.BooleanField(label=_("Remove the logo"), required=False)

    class Meta:
        model = RelyingParty
        fields = ()  # the admin's fieldsets name them
        field_classes = {"jwks": KeySetField, "most_ages_a_year": WholeNumberField}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "minimum_assurance" in self.fields:  # the form of an operator who may only read has no fields
            chosen = self.instance.minimum_assurance
            field = cast(CheckboxesField, self.fields["minimum_assurance"])
            field.choices = [(text, text) for text in _assurances(chosen)]
        if self.instance.pk:
            self.initial["number"] = recognition.sub_of(self.instance)
        if "allowed_claims" in self.fields:
            offered = dict(choices.NAMED_PERMISSIONS)
            questions = [name for name in self.instance.allowed_claims if name not in offered]
            field = cast(CheckboxesField, self.fields["allowed_claims"])
            field.choices = [*choices.NAMED_PERMISSIONS, *((name, name) for name in questions)]

    def clean_id_token_signed_response_alg(self) -> str:
        """ES256 if it was left out."""
        return self.cleaned_data["id_token_signed_response_alg"] or RelyingParty.IdTokenAlgorithm.ES256

    def clean_logo_file(self) -> bytes | None:
        """The bytes of the uploaded logo; reads at most one byte more than a logo may have."""
        upload = self.cleaned_data["logo_file"]
        if upload is None:
            return None
        picture: bytes = upload.read(logos.LARGEST + 1)
        if reason := logos.problem_with(picture):
            raise forms.ValidationError(reason)
        return picture

    def clean(self) -> dict[str, Any]:
        """Sets or removes the logo of the relying party, and sets whether it may recognise people."""
        cleaned = super().clean() or self.cleaned_data
        number = cleaned.get("number")
        if not number and recognition.must_choose(cleaned.get("wire_format")):
            self.add_error("number", recognition.NEEDED)
        self.instance.may_recognise = number == Sub.SAME
        if cleaned.get("remove_logo"):
            self.instance.logo = b""
        if picture := cleaned.get("logo_file"):
            self.instance.logo = picture
        return cleaned


class SuspensionForm(forms.Form):
    """The reason for a suspension. Operators read it later; relying parties and holders do not."""

    required_css_class = "required"

    reason = ReasonField(
        max_length=300,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=_("Needed. Kept in the history. Operators see it; holders and the application do not."),
    )


class NewSecretForm(forms.Form):
    """A new secret, and when the present one ends. first: there is no present one."""

    before = forms.ChoiceField(
        label=_("The secret before"),
        choices=[
            ("overlap", _("works for seven more days, so that the application can change over")),
            ("end", _("ends now: somebody else may know it")),
        ],
        initial="overlap",
        widget=forms.RadioSelect,
    )

    def __init__(self, *args: Any, first: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if first:
            del self.fields["before"]
