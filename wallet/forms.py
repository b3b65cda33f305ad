"""What people type: an address, a code."""

import re
import unicodedata

from django import forms
from django.utils.translation import gettext_lazy as _

_SEPARATORS = re.compile(r"[\s\-.·]+")


class EmailForm(forms.Form):
    """The address to sign in with; lower case, as wallets keep it."""

    email = forms.EmailField(
        label=_("Your e-mail address"),
        help_text=_("We send a sign-in code there."),
        max_length=254,
        widget=forms.EmailInput(attrs={"autocomplete": "email", "autofocus": True, "spellcheck": "false"}),
        error_messages={
            "required": _("Enter your e-mail address."),
            "invalid": _("Enter an e-mail address."),
        },
    )

    def clean_email(self) -> str:
        email: str = self.cleaned_data["email"]
        return email.lower()


class CodeForm(forms.Form):
    """The six digits, however they were copied: with spaces, hyphens or full-width digits."""

    code = forms.CharField(
        label=_("Code from the e-mail"),
        help_text=_("Six digits"),
        max_length=30,
        widget=forms.TextInput(
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
