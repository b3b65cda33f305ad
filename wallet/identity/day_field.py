"""The field for a day that a person types, such as their date of birth: day, month by its name, and year.

In one field, 12/04/1990 is 12 April for some people and 4 December for others, and browsers show the days of
a date picker in the order of their own language.
"""

from datetime import date
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from infra import localised


class DayInput(forms.MultiWidget):
    """Three inputs.

    autocomplete: as in HTML, such as "bday"; "off" for a day that is not that of the person who types.
    """

    template_name = "wallet/day_input.html"

    def __init__(self, autocomplete: str = "off") -> None:
        def attrs(part: str, **others: str) -> dict[str, str]:
            named = autocomplete if autocomplete == "off" else f"{autocomplete}-{part}"
            return {"autocomplete": named, "class": f"day-{part}", **others}

        months = forms.Select(attrs("month"))
        months.choices = lambda: [("", ""), *localised.months().items()]  # type: ignore[assignment]
        day = forms.TextInput(attrs("day", maxlength="2", inputmode="numeric"))
        year = forms.TextInput(attrs("year", maxlength="4", inputmode="numeric"))
        super().__init__({"day": day, "month": months, "year": year})

    def decompress(self, value: date | str | None) -> list[int]:
        """value: a day, also as in ISO 8601."""
        day = date.fromisoformat(str(value)) if value else None
        return [day.day, day.month, day.year] if day else []

    def id_for_label(self, id_: str) -> str:
        """The first input, to which a list of errors leads."""
        return f"{id_}_0"


class DayField(forms.DateField):
    """A day that is typed in three inputs (`DayInput`). The year has four digits."""

    widget = DayInput
    default_error_messages = {
        "invalid": _("Enter a date that exists: the day, the month, and the year with four digits.")
    }

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(input_formats=["%Y-%m-%d"], **kwargs)

    def to_python(self, value: Any) -> date | None:
        if isinstance(value, list):
            parts = [(part or "").strip() for part in value]
            value = "-".join(reversed(parts)) if any(parts) else ""
        return super().to_python(value)
