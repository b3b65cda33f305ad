"""The form for the name of a passkey."""

from django import forms
from django.utils.translation import gettext_lazy as _

from wallet.passkeys import names


class PasskeyNameForm(forms.Form):
    """A name by which the holder recognises the passkey."""

    name = forms.CharField(
        label=_("Name of this passkey"),
        help_text=_("For example the device that it is on. Only you see it."),
        max_length=names.MOST,
        widget=forms.TextInput(attrs={"autocomplete": "off", "autofocus": True}),
        error_messages={
            "required": _("Enter a name."),
            "max_length": _("Enter a name of at most 60 characters."),
        },
    )
