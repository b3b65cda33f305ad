"""The forms with which holders search their receipts and report a requester."""

from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from consent.question import REPORTED_FOR
from consent.receipts import Search
from infra import zones
from infra.typed_digits import IsoDayField

_WRONG = _("Enter a date with year, month and day, such as 2026-11-22.")
_OUTSIDE = _("Enter a date between 2000 and 2100.")


def _day(label: Any) -> IsoDayField:
    return IsoDayField(
        label=label,
        required=False,
        widget=forms.DateInput(attrs={"type": "date", "autocomplete": "off"}, format="%Y-%m-%d"),
        validators=[
            MinValueValidator(date(2000, 1, 1), message=_OUTSIDE),
            MaxValueValidator(date(2100, 12, 31), message=_OUTSIDE),
        ],
        error_messages={"invalid": _WRONG},
    )


class SearchForm(forms.Form):
    """Who asked, and the first and the last day, in the time zone of the browser.

    `moments.js` fills in the zone. Without scripts the pages show times in UTC, and the search takes the
    days in UTC too.
    """

    requester = forms.CharField(
        label=_("Who asked"),
        help_text=_("A name or a web address, or a part of it."),
        max_length=100,
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
        error_messages={"max_length": _("Enter at most 100 characters.")},
    )
    since = _day(pgettext_lazy("the first day of a search", "From"))
    until = _day(pgettext_lazy("the last day of a search", "To"))
    zone = forms.CharField(required=False, widget=forms.HiddenInput)

    @property
    def search(self) -> Search:
        """What to find, of a valid form."""
        first, last = self.cleaned_data["since"], self.cleaned_data["until"]
        zone: tzinfo = self.cleaned_data["zone"]
        return Search(
            requester=self.cleaned_data["requester"],
            since=datetime.combine(first, time(), tzinfo=zone) if first else None,
            until=datetime.combine(last + timedelta(days=1), time(), tzinfo=zone) if last else None,
        )

    @property
    def searches(self) -> bool:
        """Whether the person searches, with or without an error."""
        return any(self.data.get(name) for name in ("requester", "since", "until"))

    @property
    def kept(self) -> dict[str, str]:
        """The parameters of the search, for the links to its other pages."""
        return {name: self.data[name] for name in self.fields if self.searches and self.data.get(name)}

    def clean_zone(self) -> tzinfo:
        """The zone, or UTC."""
        return zones.named(self.cleaned_data["zone"]) or UTC

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        first, last = cleaned.get("since"), cleaned.get("until")
        if first and last and first > last:
            self.add_error("until", _("The last day is before the first. Enter a later one."))
        return cleaned


class ReportForm(forms.Form):
    """A fixed reason, and a text if the holder writes one."""

    reason = forms.ChoiceField(label=_("What is wrong?"), choices=REPORTED_FOR, widget=forms.RadioSelect)
    text = forms.CharField(
        label=_("More about it, if you like"),
        help_text=_("The operator reads it, but not from whom it is. Write nothing about yourself."),
        max_length=1000,
        required=False,
        widget=forms.Textarea(attrs={"rows": 4}),
    )
