"""The form for the new address of a wallet."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from wallet.forms import EmailForm


class NewAddressForm(EmailForm):
    """The new e-mail address of a wallet, in lower case."""

    field_order = ("email",)

    def __init__(self, *args: Any, present: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.present = present
        self.fields["email"].label = _("New e-mail address")
        self.fields["email"].help_text = _("We send a code there.")

    def clean_email(self) -> str:
        email = super().clean_email()
        if email == self.present:
            text = _("This is the address you have now. Enter another one.")
            raise forms.ValidationError(text, code="same")
        return email
