"""What a person types about themselves before a QR code for another device is shown."""

from typing import Any

from django import forms
from django.utils.timezone import localdate
from django.utils.translation import gettext_lazy as _

from wallet.claims import MAX_NAME


def _name(label: Any, **attributes: Any) -> forms.CharField:
    return forms.CharField(
        label=label,
        max_length=MAX_NAME,
        required=False,
        widget=forms.TextInput(attrs={"spellcheck": "false", **attributes}),
    )


class AboutYouForm(forms.Form):
    """Compared with what the wallet shows. What differs, a person looks at."""

    given_name = _name(_("Given names"), autocomplete="given-name")
    family_name = _name(_("Family name"), autocomplete="family-name")
    # Typed, not picked: browsers show the days of a picker in the order of their own language.
    birth_date = forms.DateField(
        label=_("Birth date"),
        help_text=_("Year, month and day, such as 1990-04-12 for 12 April 1990."),
        input_formats=["%Y-%m-%d"],
        widget=forms.DateInput(attrs={"autocomplete": "bday"}, format="%Y-%m-%d"),
        error_messages={
            "required": _("Enter your birth date."),
            "invalid": _("Enter year, month and day, such as 1990-04-12."),
        },
    )

    def clean(self) -> dict[str, Any]:
        """Adds `typed`, as a transaction keeps it."""
        cleaned = super().clean() or {}
        born = cleaned.get("birth_date")
        if born and born >= localdate():
            self.add_error("birth_date", _("A birth date lies in the past."))
        if not cleaned.get("given_name") and not cleaned.get("family_name"):
            self.add_error("given_name", _("Enter your name as in your wallet."))
        if born and not self.errors:
            names = {name: cleaned[name] for name in ("given_name", "family_name")}
            cleaned["typed"] = {**names, "birth_date": born.isoformat()}
        return cleaned
