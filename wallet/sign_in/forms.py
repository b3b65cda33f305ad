"""The forms to sign in with (e-mail address, code), and those in which operators give a reason."""

from typing import Any

from django import forms
from django.conf import settings
from django.utils.translation import gettext_lazy as _

from infra import email_addresses
from infra.email_addresses import EmailAddressError
from infra.reasons import ReasonField
from infra.typed_digits import SixDigitsField
from wallet.models import WalletClosure


class EmailForm(forms.Form):
    """The e-mail address to sign in with, in lower case as wallets store it.

    present: the address that the wallet has now, which is refused with the text `refusal`.
    """

    label = _("Your e-mail address")
    help_text = _("We send a sign-in code there.")
    refusal = _("This is the address you have now. Enter another one.")

    email = forms.EmailField(
        max_length=254,
        widget=forms.EmailInput(
            attrs={"autocomplete": "username webauthn", "autofocus": True, "spellcheck": "false"}
        ),
        error_messages={
            "required": _("Enter your e-mail address."),
            "invalid": _("Enter an e-mail address, like name@example.com."),
        },
    )

    def __init__(self, *args: Any, present: str | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.present = present
        self.fields["email"].label, self.fields["email"].help_text = self.label, self.help_text

    def clean_email(self) -> str:
        email: str = self.cleaned_data["email"]
        try:
            email = email_addresses.parse(email, localhost=settings.LOCALHOST_EMAIL_ADDRESSES)
        except EmailAddressError:
            text = _("We can’t send e-mail to this address. Enter another one, like name@example.com.")
            raise forms.ValidationError(text, code="invalid") from None
        if email == self.present:
            raise forms.ValidationError(self.refusal, code="same")
        return email


class CodeInput(forms.PasswordInput):
    """A visible input that is empty when the form is shown again, so that the next code replaces the last."""

    input_type = "text"


class CodeForm(forms.Form):
    """The six digits of a sign-in code, or of the code that confirms an address."""

    code = SixDigitsField(
        label=_("Code from the e-mail"),
        help_text=_("Six digits"),
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


class ReasonForm(forms.Form):
    """The reason for an operation, for the log."""

    required_css_class = "required"

    reason = ReasonField(help_text=_("Needed, for the log. It is not shown to the person."))


class ClosingForm(forms.Form):
    """Why an operator closes a wallet: a code, because it stays for ever and a text might name the person."""

    required_css_class = "required"

    reason = forms.ChoiceField(
        label=_("Reason"),
        help_text=_("Stays on record for ever. It is not shown to the person."),
        choices=[("", "---------")]
        + [(code, label) for code, label in WalletClosure.Reason.choices if code != "own_wish"],
    )
