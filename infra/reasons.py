"""Texts that people have to give, such as a reason for a record that is kept: what counts as given."""

import unicodedata
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from infra.characters import BLANK


def visible(text: str) -> int:
    """How many letters, digits, punctuation marks and symbols the text has that people can see."""
    return sum(unicodedata.category(character)[0] in "LNPS" and character not in BLANK for character in text)


class VisibleField(forms.CharField):
    """A text with at least `min_length` visible characters."""

    def validate(self, value: str) -> None:
        super().validate(value)
        if visible(value) < (self.min_length or 1):
            raise ValidationError(_("Write something that can be read."), code="visible")


class ReasonField(VisibleField):
    def __init__(self, **options: Any) -> None:
        widget = forms.TextInput(attrs={"class": "vTextField", "autocomplete": "off"})
        super().__init__(**{"label": _("Reason"), "max_length": 200, "widget": widget, **options})
