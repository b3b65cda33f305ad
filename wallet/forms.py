"""The forms of holders (e-mail address, code) and of operators (reason, identity)."""

import re
import unicodedata
from typing import Any

from django import forms
from django.utils.timezone import localdate
from django.utils.translation import gettext_lazy as _

from infra import email_addresses
from infra.email_addresses import EmailAddressError
from wallet.claims import Identity, IdentityError

_SEPARATORS = re.compile(r"[\s\-.·]+")


class EmailForm(forms.Form):
    """The e-mail address to sign in with, in lower case as wallets store it."""

    email = forms.EmailField(
        label=_("Your e-mail address"),
        help_text=_("We send a sign-in code there."),
        max_length=254,
        widget=forms.EmailInput(attrs={"autocomplete": "email", "autofocus": True, "spellcheck": "false"}),
        error_messages={
            "required": _("Enter your e-mail address."),
            "invalid": _("Enter an e-mail address, like name@example.com."),
        },
    )

    def clean_email(self) -> str:
        email: str = self.cleaned_data["email"]
        try:
            return email_addresses.parse(email)
        except EmailAddressError:
            text = _("We can’t send e-mail to this address. Enter another one, like name@example.com.")
            raise forms.ValidationError(text, code="invalid") from None


class CodeInput(forms.PasswordInput):
    """A visible input that is empty when the form is shown again, so that the next code replaces the last."""

    input_type = "text"


class CodeForm(forms.Form):
    """The six digits; spaces, hyphens and full-width digits are accepted."""

    code = forms.CharField(
        label=_("Code from the e-mail"),
        help_text=_("Six digits"),
        max_length=30,
        widget=CodeInput(
            attrs={
                "autocomplete": "one-time-code",
                "autofocus": True,
                "class": "code-input",
                "inputmode": "numeric",
                "spellcheck": "false",
            }
        ),
        error_messages={"required": _("Enter the code from the e-mail.")},
    )

    def clean_code(self) -> str:
        code = _SEPARATORS.sub("", unicodedata.normalize("NFKC", self.cleaned_data["code"]))
        if not re.fullmatch("[0-9]{6}", code):
            raise forms.ValidationError(_("The code is six digits, such as 123456."), code="shape")
        return code


class ReasonForm(forms.Form):
    """The reason for an operation, for the log."""

    required_css_class = "required"

    reason = forms.CharField(
        label=_("Reason"),
        help_text=_("Needed, for the log. It is not shown to the person."),
        max_length=200,
        strip=True,
        widget=forms.TextInput(attrs={"class": "vTextField", "autocomplete": "off"}),
    )


class IdentityForm(ReasonForm):
    """The identity in a document, typed or confirmed by the operator who checked it."""

    given_name = forms.CharField(
        label=_("Given names"),
        help_text=_("As in the document. Empty if the person has a single name and it is below."),
        max_length=200,
        required=False,
        widget=forms.TextInput(attrs={"class": "vTextField", "autocomplete": "off"}),
    )
    family_name = forms.CharField(
        label=_("Family name"),
        max_length=200,
        required=False,
        widget=forms.TextInput(attrs={"class": "vTextField", "autocomplete": "off"}),
    )
    # A text field, because date pickers use the date format of the browser's language.
    birth_date = forms.DateField(
        label=_("Birth date"),
        help_text=_("Year, month and day, such as 1990-04-12 for 12 April 1990."),
        input_formats=["%Y-%m-%d"],
        widget=forms.DateInput(attrs={"class": "vTextField", "autocomplete": "off"}, format="%Y-%m-%d"),
        error_messages={"invalid": _("Enter year, month and day, such as 1990-04-12.")},
    )
    nationalities = forms.CharField(
        label=_("Nationalities"),
        help_text=_("Two-letter country codes, separated by commas, such as GB, IE."),
        max_length=60,
        required=False,
        widget=forms.TextInput(attrs={"class": "vTextField", "autocomplete": "off"}),
    )
    field_order = ["given_name", "family_name", "birth_date", "nationalities", "reason"]

    @classmethod
    def initial_for(cls, identity: Identity) -> dict[str, Any]:
        """The initial values for an identity that a provider has found."""
        return {
            "given_name": identity.given_name,
            "family_name": identity.family_name,
            "birth_date": identity.birth_date,
            "nationalities": ", ".join(identity.nationalities),
        }

    def clean(self) -> dict[str, Any]:
        """Adds `identity` to the cleaned data."""
        cleaned = super().clean() or {}
        if self.errors:
            return cleaned
        written = cleaned["nationalities"].upper().replace(",", " ").split()
        try:
            cleaned["identity"] = Identity(
                given_name=cleaned["given_name"],
                family_name=cleaned["family_name"],
                birth_date=cleaned["birth_date"],
                nationalities=tuple(written),
            )
        except IdentityError as error:
            raise forms.ValidationError(
                _("This cannot be: %(why)s"), params={"why": str(error)}, code="identity"
            ) from error
        if cleaned["birth_date"] >= localdate():
            self.add_error("birth_date", _("A birth date lies in the past."))
        return cleaned
