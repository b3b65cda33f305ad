"""What people type or paste where digits are expected: codes, numbers and days. One reading for every field.

Keyboards write the digits of their own script, and what is pasted brings along invisible characters, dashes,
quotes, or the sentence around a code. `code.js` reads a code of six digits by the same rules.
"""

import re
import unicodedata
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from infra.characters import BLANK

LONGEST = 1000  # characters; a pasted e-mail with the code is shorter

_INVISIBLE = BLANK | {chr(selector) for selector in range(0xFE00, 0xFE10)}  # variation selectors, of emoji
_MINUS = "\u2212"
_AROUND = " '\"“”‘’‚„‹›«»`´()[]{}.,;:!?·-_*|/\\#"
# Six digits by themselves: next to a letter of another script, because not every script has spaces.
_SIX = re.compile(r"(?<![0-9A-Za-z])[0-9]{6}(?![0-9A-Za-z])")
_GROUPS = re.compile(r"(?<![0-9A-Za-z])[0-9](?:[ .·-]?[0-9])*(?![0-9A-Za-z])")
_DAY = re.compile(r"([0-9]{4})[-./ ]{1,3}([0-9]{1,2})[-./ ]{1,3}([0-9]{1,2})")


def plain(text: str) -> str:
    """The text with the digits 0 to 9 for those of any script, "-" for any dash, and single spaces.

    It has no invisible characters, no spaces at its ends, and compatibility characters such as full-width
    letters are replaced (NFKC). A text over LONGEST is returned as it is: no field takes it.
    """
    if len(text) > LONGEST:
        return text
    return re.sub(" +", " ", "".join(map(_plain_character, unicodedata.normalize("NFKC", text)))).strip(" ")


def six_digits(text: str) -> str | None:
    """The only code of six digits that the text contains, however it is grouped; None if it is not clear.

    Without letters, all digits are the code. In a sentence it is the group of six digits, or digits with
    single spaces, dashes or dots between them. No text has two readings, so that it costs one try.
    """
    if len(text) > LONGEST:
        return None
    text = plain(text)
    digits = "".join(re.findall("[0-9]", text))
    if len(digits) == 6 and not any(character.isalpha() for character in text):
        return digits
    groups = [re.sub("[^0-9]", "", group) for group in _GROUPS.findall(text)]
    for found in (set(_SIX.findall(text)), {group for group in groups if len(group) == 6}):
        if found:
            return found.pop() if len(found) == 1 else None
    return None


def number(text: str) -> str:
    """The text as `plain` gives it, without punctuation around it, such as "12" for "12."."""
    return plain(text).strip(_AROUND)


def day(text: str) -> str:
    """A day in the order of ISO 8601, as YYYY-MM-DD, whatever separates its parts; other text as `number`."""
    text = number(text)
    parts = _DAY.fullmatch(text)
    return f"{parts[1]}-{parts[2]:0>2}-{parts[3]:0>2}" if parts else text


class PlainField(forms.CharField):
    """A line in which digits matter, such as the number of a document: as `plain` gives it."""

    def to_python(self, value: Any) -> str:
        return plain(super().to_python(value) or "")


class SixDigitsField(forms.CharField):
    """A code of six digits, which may stand in a sentence."""

    default_error_messages = {"invalid": _("The code is six digits, such as 123456.")}

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"max_length": LONGEST, **options})

    def clean(self, value: Any) -> str:
        """The six digits; raises ValidationError."""
        text = super().clean(value)
        code = six_digits(text)
        if text and code is None:
            raise forms.ValidationError(self.error_messages["invalid"], code="invalid")
        return code or ""


class WholeNumberField(forms.IntegerField):
    """A whole number."""

    def to_python(self, value: Any) -> int | None:
        return super().to_python(number(value) if isinstance(value, str) else value)


class IsoDayField(forms.DateField):
    """A day in one input, in the order year, month, day."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"input_formats": ["%Y-%m-%d"], **options})

    def to_python(self, value: Any) -> Any:
        return super().to_python(day(value) if isinstance(value, str) else value)


def _plain_character(character: str) -> str:
    category = unicodedata.category(character)
    if character in _INVISIBLE or category in ("Cf", "Me"):
        return ""
    if category == "Nd":
        return str(unicodedata.decimal(character))
    if category == "Pd" or character == _MINUS:
        return "-"
    return " " if category[0] == "Z" or category == "Cc" else character
