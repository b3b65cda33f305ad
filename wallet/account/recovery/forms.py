"""The forms for the addresses of a recovery: the new one, and the one that is lost."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from wallet.forms import EmailForm


class OwnNewAddressForm(EmailForm):
    """The address of the wallet that somebody opens because their mailbox is lost."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["email"].label = _("An e-mail address that you can read")
        self.fields["email"].help_text = _("We send a code there. Your wallet moves to this address.")


class LostAddressForm(EmailForm):
    """The address of the mailbox that is lost."""

    def __init__(self, *args: Any, present: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.present = present
        self.fields["email"].label = _("E-mail address of the lost mailbox")
        self.fields["email"].help_text = _("The address that you signed in with before.")
        self.fields["email"].widget.attrs["autocomplete"] = "off"

    def clean_email(self) -> str:
        email = super().clean_email()
        if email == self.present:
            text = _("You are signed in with this address. Enter the one you cannot read any more.")
            raise forms.ValidationError(text, code="same")
        return email
