"""The field for a day that a person types, such as their date of birth: day, month by its name, and year.

In one field, 12/04/1990 is 12 April for some people and 4 December for others, and browsers show the days of
a date picker in the order of their own language.
"""

from datetime import date
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from infra import localised
from infra.typed_digits import number
from wallet.credential import birth_dates, days
from wallet.credential.birth_dates import BirthDate, PartialDate


class MonthSelect(forms.Select):
    """The months by their names, in the language of the page, and what may stand in the place of a month."""

    others: tuple[tuple[str, str | Promise], ...] = ()

    def optgroups(self, *args: Any, **kwargs: Any) -> Any:
        self.choices = [("", ""), *localised.months().items(), *self.others]
        return super().optgroups(*args, **kwargs)


class MonthOrUnknownSelect(MonthSelect):
    others = (("00", _("Not in the document")),)


class DayInput(forms.MultiWidget):
    """Three inputs.

    autocomplete: as in HTML, such as "bday"; "off" for a day that is not that of the person who types.
    """

    template_name = "wallet/day_input.html"
    months: type[forms.Select] = MonthSelect

    def __init__(self, autocomplete: str = "off") -> None:
        def attrs(part: str, **others: str) -> dict[str, str]:
            named = autocomplete if autocomplete == "off" else f"{autocomplete}-{part}"
            return {"autocomplete": named, "class": f"day-{part}", **others}

        # No maxlength: browsers would cut off digits behind invisible characters or of two code units.
        day = forms.TextInput(attrs("day", inputmode="numeric"))
        year = forms.TextInput(attrs("year", inputmode="numeric"))
        super().__init__({"day": day, "month": self.months(attrs("month")), "year": year})

    def decompress(self, value: date | str | None) -> list[Any]:
        """value: a day, also as in ISO 8601."""
        day = date.fromisoformat(str(value)) if value else None
        return [day.day, day.month, day.year] if day else []

    def id_for_label(self, id_: str) -> str:
        """The first input, to which a list of errors leads."""
        return f"{id_}_0"


class BirthDateInput(DayInput):
    """As `DayInput`, for a date of which the day, or day and month, may be unknown."""

    months = MonthOrUnknownSelect

    def decompress(self, value: BirthDate | str | None) -> list[Any]:
        """value: a date of birth, also as text."""
        born = birth_dates.read(str(value)) if value else None
        if isinstance(born, PartialDate):
            return ["00", born.month or "00", born.year]
        return [born.day, born.month, born.year] if born else []


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
            parts = [number(part or "") for part in value]
            value = "-".join(reversed(parts)) if any(parts) else ""
        return super().to_python(value)


class BirthDateField(DayField):
    """A date of birth in the past. Passports may lack its day, or day and month (ICAO Doc 9303 part 3 §4.8).

    It has to be said that they are unknown, so that a part that was forgotten is noticed: by 00, XX or << as
    the day, as the document may have it, and a choice of its own for the month.
    """

    widget = BirthDateInput
    default_error_messages = {"future": _("A birth date lies in the past.")}

    def to_python(self, value: Any) -> Any:
        """A `BirthDate`."""
        born = self._partial(value) if isinstance(value, list) else None
        return born or super().to_python(value)

    def validate(self, value: Any) -> None:
        super().validate(value)
        if value and birth_dates.earliest(value) > days.newest(timezone.now()):
            raise forms.ValidationError(self.error_messages["future"], code="future")

    def _partial(self, parts: list[str | None]) -> PartialDate | None:
        day, month, year = (number(part or "").upper() for part in parts)
        born = birth_dates.read(f"{year}-{month.zfill(2)}-{day.zfill(2)}") if day and month else None
        return born if isinstance(born, PartialDate) else None
