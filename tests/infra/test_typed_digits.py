"""What is typed into fields of digits is read by one rule, on the server and in the page."""

import re
import unicodedata
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import pytest
from django import forms
from django.conf import settings
from hypothesis import example, given
from hypothesis import strategies as st

from consent.forms import SearchForm
from infra.typed_digits import (
    LONGEST,
    IsoDayField,
    PlainField,
    SixDigitsField,
    WholeNumberField,
    day,
    number,
    plain,
    six_digits,
)
from presentation.relying_parties.forms import RelyingPartyForm
from wallet.identity.day_field import DayField

ZEROS = [
    point
    for point in range(0x110000)
    if unicodedata.category(chr(point)) == "Nd" and unicodedata.decimal(chr(point)) == 0
]
INVISIBLE = "\u200b\u200c\u200d\u200e\u200f\u202a\u202c\u2060\u2066\u2069\ufeff\u00ad\ufe0f\u2800\u3164"
BETWEEN = st.text(st.sampled_from(" \t\u00a0\u2009\u3000-‐–—−.·'’/_" + INVISIBLE), max_size=3)  # noqa: RUF001
READERS = (PlainField, SixDigitsField, WholeNumberField, IsoDayField, DayField)
PLACES = ("config", "operators", "sandbox", "presentation", "consent", "wallet", "keys", "infra")


def in_script(zero: int, digits: str) -> str:
    return "".join(chr(zero + int(digit)) if digit.isdecimal() else digit for digit in digits)


def own_forms() -> set[type[Any]]:
    """Every form class of this project."""
    for place in PLACES:
        for module in walk_packages([str(settings.BASE_DIR / place)], f"{place}."):
            if ".migrations" not in module.name:
                import_module(module.name)
    found, left = set(), [forms.BaseForm]
    while left:
        subclasses = left.pop().__subclasses__()
        found |= {form for form in subclasses if form.__module__.split(".")[0] in PLACES}
        left += subclasses
    return found


@given(
    st.from_regex("[0-9]{6}", fullmatch=True),
    st.sampled_from(ZEROS),
    st.lists(BETWEEN, min_size=7, max_size=7),
)
def test_a_code_is_read_in_every_script_and_however_it_is_grouped(code, zero, between):
    typed = "".join(a + b for a, b in zip(between, [*in_script(zero, code), ""], strict=True))
    assert six_digits(typed) == code


@given(
    st.from_regex("[0-9]{6}", fullmatch=True),
    st.sampled_from(ZEROS),
    st.sampled_from(["", " ", "-", "\u00a0", "\u2011"]),
    st.sampled_from(
        [
            "{} is your sign-in code. It works for 10 minutes.",
            "Your code: {}",
            "“{}” es su código.",
            "G-{} (valid until 10:42)",
            "رمزك هو {}",
            "验证码{}，10分钟内有效。",  # noqa: RUF001
        ]
    ),
)
def test_a_code_is_found_in_the_sentence_around_it(code, zero, between, sentence):
    typed = in_script(zero, code[:3]) + between + in_script(zero, code[3:])
    if between == "-" and "G-" in sentence:
        sentence = sentence.replace("G-", "G ")
    assert six_digits(sentence.format(typed)) == code


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "12345",
        "1234567",
        "12345a",
        "a123456",
        "codes 123456 and 654321",
        "code 123 456 or 654 321",
        "x" * LONGEST + "123456",
    ],
)
def test_what_is_no_code_or_is_several_is_none(typed):
    assert six_digits(typed) is None


@given(st.text(max_size=80))
@example("²")
@example("½")
def test_no_text_breaks_a_reader_and_each_reads_its_own_result_again(typed):
    assert plain(plain(typed)) == plain(typed)
    assert number(typed) == number(number(typed))
    code = six_digits(typed)
    assert code is None or re.fullmatch("[0-9]{6}", code)
    assert len(day(typed)) <= LONGEST


@given(st.dates(), st.sampled_from(ZEROS), st.sampled_from("-/. \u2011"), st.sampled_from(INVISIBLE))
def test_a_day_and_its_parts_are_read_in_every_script(date, zero, between, unseen):
    written = in_script(zero, f"{date.year:04}{between}{date.month}{between}{date.day:02}")
    assert IsoDayField().clean(f"{unseen}“{written}”{unseen}") == date
    parts = [in_script(zero, f"{date.day}.{unseen}"), str(date.month), in_script(zero, f" {date.year:04}")]
    assert DayField().clean(parts) == date


def test_forms_of_days_and_numbers_read_them_so():
    form = SearchForm({"since": "٢٠٢٦-١١-٠١", "until": "2026/11/22\u200b"})
    assert form.is_valid(), form.errors
    assert str(form.cleaned_data["since"]) == "2026-11-01"
    assert RelyingPartyForm._meta.field_classes["most_ages_a_year"] is WholeNumberField
    assert WholeNumberField().clean("\u200e१२") == 12


def test_every_field_of_digits_uses_the_one_reader():
    """A field is one of digits if its type, its widget or its name says so."""
    checked, others = 0, []
    for form in own_forms():
        for name, field in {**form.base_fields, **getattr(form, "declared_fields", {})}.items():
            attributes = field.widget.attrs
            of_digits = (
                isinstance(
                    field, forms.IntegerField | forms.DateField | forms.TimeField | forms.DurationField
                )
                or attributes.get("inputmode") in ("numeric", "decimal", "tel")
                or attributes.get("autocomplete") == "one-time-code"
                or getattr(field.widget, "input_type", "") in ("number", "date", "tel")
                or (type(field) is forms.CharField and re.search("code|number|date|year|_day|_on$", name))
            )
            checked += bool(of_digits)
            if of_digits and not isinstance(field, READERS):
                others.append(f"{form.__module__}.{form.__qualname__}.{name}")
    templates = Path(settings.BASE_DIR, "templates").rglob("*.html")
    own = re.compile(r"""type=["'](?:number|date|tel)|inputmode=|one-time-code""")
    assert [str(path) for path in templates if own.search(path.read_text())] == []
    assert others == []
    assert checked >= 8


def test_no_other_module_has_a_rule_of_its_own_for_typed_codes():
    inputs = re.compile(r"forms\.(?:Integer|Date|Decimal|Float|Regex)Field\(|one-time-code")
    own = {
        str(path.relative_to(settings.BASE_DIR))
        for place in PLACES
        for path in Path(settings.BASE_DIR, place).rglob("*.py")
        if (text := path.read_text()) and inputs.search(text) and "infra.typed_digits" not in text
    }
    assert own == set()
