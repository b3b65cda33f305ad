"""Forms: codes in any notation, e-mail addresses, and identities as in documents."""

import re
from datetime import date, timedelta

import pytest
from django import forms
from django.utils import timezone
from django.utils.translation import override
from hypothesis import given
from hypothesis import strategies as st

from infra.typed_digits import six_digits
from tests.day_inputs import typed_day
from tests.people import DETAILS, evidence_of
from tests.wallet.typed_identities import seen
from wallet.credential import days
from wallet.credential.birth_dates import PartialDate
from wallet.credential.claims import Identity
from wallet.identity.day_field import BirthDateField, DayField
from wallet.identity.forms import IdentityForm
from wallet.sign_in.forms import CodeForm, EmailForm


@pytest.mark.parametrize("typed", ["123456", "123 456", "１２３４５６", "٣٤٥٦٧٨", "‎「१२३-४५६」"])  # noqa: RUF001
def test_a_code_may_be_typed_in_any_script(typed):
    form = CodeForm({"code": typed})
    assert form.is_valid(), form.errors
    assert form.cleaned_data["code"] == str(six_digits(typed))


def test_a_refused_code_is_not_given_back():
    assert "value=" not in str(CodeForm({"code": "12345"})["code"])


@given(st.text(max_size=60))
def test_anything_else_is_refused_with_words_and_never_with_an_error(typed):
    form = CodeForm({"code": typed})
    if form.is_valid():
        assert len(form.cleaned_data["code"]) == 6
        assert form.cleaned_data["code"].isascii()
        assert form.cleaned_data["code"].isdecimal()
    else:
        assert form.errors["code"]


@pytest.mark.parametrize("typed", ["12345", "1234567", "12345a", "", "1" * 31, "." * 1001 + "123456"])
def test_what_is_no_code_is_refused(typed):
    assert not CodeForm({"code": typed}).is_valid()


@given(st.emails())
def test_addresses_are_kept_in_lower_case(address):
    form = EmailForm({"email": f" {address} "})
    if form.is_valid():
        assert form.cleaned_data["email"] == form.cleaned_data["email"].lower()


@given(st.text(max_size=300))
def test_no_text_breaks_the_address_field(typed):
    form = EmailForm({"email": typed})
    assert form.is_valid() or form.errors["email"]


def parts(name, day, month, year):
    """A day as a browser sends its three inputs."""
    return {f"{name}_day": day, f"{name}_month": month, f"{name}_year": year}


def test_an_identity_is_what_was_typed():
    form = seen()
    assert form.is_valid()
    assert form.cleaned_data["identity"] == Identity("Nora", "New", date(1999, 12, 31), ("GB", "IE"))


def test_what_a_provider_read_comes_back_unchanged_through_the_form():
    identity = Identity("美咲", "佐々木", date(1987, 11, 3), ("JP",))
    typed = IdentityForm.initial_for(identity, evidence_of()) | typed_day("birth_date", "1987-11-03")
    form = IdentityForm(typed | {"reason": "as read"})
    assert form.is_valid()
    assert form.cleaned_data["identity"] == identity


def test_the_details_that_a_provider_is_set_to_verify_have_fields_and_come_back_unchanged():
    typed = typed_day("birth_date", "1987-11-03")
    found = {group: DETAILS[group] for group in ("address", "place_of_birth")}
    identity = Identity("Ada", "", date(1987, 11, 3), ("JP",), details=found)
    initial = IdentityForm.initial_for(identity, evidence_of(), {"address", "place_of_birth"})
    shown = IdentityForm(initial=initial)
    assert str(shown["place_of_birth_country"].label) == "Place of birth: Country"
    assert list(shown.fields)[-1] == "reason"
    form = IdentityForm(initial | typed | {"reason": "as read"}, initial=initial)
    assert form.is_valid(), form.errors
    assert form.cleaned_data["identity"] == identity
    assert form.cleaned_data["identity"].to_json() == identity.to_json()

    one = IdentityForm.initial_for(identity, evidence_of(), {"place_of_birth"})
    form = IdentityForm(initial | typed | {"reason": "as read"}, initial=one)
    assert form.is_valid()
    assert not any(name.startswith("address") for name in form.fields)
    assert form.cleaned_data["identity"].details.keys() == {"place_of_birth"}


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        ({"address_locality": "Paris", "address_country": "Ruritania"}, "address_country"),
        ({"address_country": "Ruritania"}, "address_country"),
        ({"address_street_address": "a\u202eb", "address_country": "fr"}, "address_street_address"),
        ({"place_of_birth_locality": "a\u202eb"}, "place_of_birth_locality"),
        ({"place_of_birth_locality": "x" * 201}, "place_of_birth_locality"),
        ({"address_formatted": "x" * 1001}, "address_formatted"),
    ],
)
def test_a_detail_that_cannot_be_read_is_told_where_it_was_typed(typed, problem):
    initial = IdentityForm.initial_for(None, evidence_of(), {"address", "place_of_birth"})
    whole = initial | {"given_name": "Ada", "reason": "seen"} | typed_day("birth_date", "1987-11-03")
    assert IdentityForm(whole, initial=initial).is_valid()
    form = IdentityForm(whole | typed, initial=initial)
    assert list(form.errors) == [problem]


def test_a_country_may_be_written_by_its_name_and_nothing_at_all_is_no_detail():
    initial = IdentityForm.initial_for(None, evidence_of(), {"address", "place_of_birth"})
    whole = initial | {"given_name": "Ada", "reason": "seen"} | typed_day("birth_date", "1987-11-03")
    form = IdentityForm(whole | {"place_of_birth_country": "ireland"}, initial=initial)
    assert form.is_valid()
    assert form.cleaned_data["identity"].details == {"place_of_birth": {"country": "IE"}}


def test_a_single_name_will_do():
    assert seen(family_name="").is_valid()
    assert seen(given_name="").is_valid()


@pytest.mark.parametrize(
    "changes",
    [
        {"given_name": "", "family_name": ""},
        parts("birth_date", "", "", ""),
        parts("birth_date", "", "12", "1999"),
        parts("birth_date", "31", "", "1999"),
        parts("birth_date", "31", "00", "1999"),
        parts("birth_date", "00", "", "1999"),
        parts("birth_date", "00", "00", "99"),
        parts("birth_date", "00", "13", "1999"),
        parts("birth_date", "00", "00", str(timezone.now().year + 1)),
        parts("birth_date", "00", "00", "1066"),
        parts("birth_date", "31", "2", "1999"),
        parts("birth_date", "31", "12", "99"),
        {"birth_date_year": str(timezone.now().year + 1)},
        parts("birth_date", "14", "10", "1066"),
        {"nationalities": "Atlantis"},
        {"nationalities": "GB, GB"},
        {"reason": " "},
        {"given_name": "a\u202eb"},
    ],
)
def test_what_cannot_be_is_refused(changes):
    assert not seen(**changes).is_valid()


@given(
    st.fixed_dictionaries(
        {name: st.text(max_size=80) for name in ("given_name", "family_name", "nationalities")}
    )
)
def test_no_typed_identity_breaks_the_form(typed):
    form = seen(**typed)
    assert form.is_valid() == ("identity" in form.cleaned_data)


class DayForm(forms.Form):
    day = DayField()


@given(st.dates(date(1000, 1, 1)))
def test_every_day_is_understood_by_its_day_month_and_year_and_shown_again(day):
    form = DayForm(parts("day", f" {day.day:02}", str(day.month), str(day.year)))
    assert form.is_valid(), form.errors
    assert form.cleaned_data["day"] == day
    again = str(DayForm(initial={"day": day})["day"])
    assert f'value="{day.day}"' in again
    assert f'<option value="{day.month}" selected>' in again
    assert f'value="{day.year}"' in again
    assert again == str(DayForm(initial={"day": day.isoformat()})["day"])


@given(st.lists(st.one_of(st.none(), st.text(max_size=6)), min_size=3, max_size=3))
def test_no_parts_of_a_day_break_the_field(typed):
    sent = {name: value for name, value in parts("day", *typed).items() if value is not None}
    form = DayForm(sent)
    assert form.is_valid() == ("day" in form.cleaned_data)
    assert "day-parts" in str(form["day"])


class BirthDateForm(forms.Form):
    born = BirthDateField()


@pytest.mark.parametrize("unknown", ["00", "XX", "xx", "0", " 00 "])
@given(st.dates(date(1875, 1, 1), date(2020, 1, 1)), st.booleans())
def test_what_the_document_lacks_of_a_birth_date_is_said_and_shown_again(unknown, day, has_month):
    month = str(day.month) if has_month else "00"
    form = BirthDateForm(parts("born", unknown, month, str(day.year)))
    assert form.is_valid(), form.errors
    born = form.cleaned_data["born"]
    assert born == PartialDate(day.year, day.month if has_month else None)
    again = str(BirthDateForm(initial={"born": born})["born"])
    assert 'value="00"' in again
    assert f'<option value="{month}" selected>' in again
    assert again == str(BirthDateForm(initial={"born": str(born)})["born"])


@given(st.dates(date(1875, 1, 1), date(2020, 1, 1)))
def test_a_whole_birth_date_is_a_day(day):
    form = BirthDateForm(parts("born", str(day.day), str(day.month), str(day.year)))
    assert form.is_valid()
    assert form.cleaned_data["born"] == day


def test_a_birth_date_is_in_the_past_once_it_has_begun_somewhere():
    newest = days.newest(timezone.now())
    for day, valid in ((newest, True), (newest + timedelta(days=1), False)):
        assert BirthDateForm(parts("born", str(day.day), str(day.month), str(day.year))).is_valid() == valid


@pytest.mark.parametrize(
    ("language", "first", "last"), [("en-gb", "January", "December"), ("es", "enero", "diciembre")]
)
def test_months_have_names_in_the_language_of_the_page(language, first, last):
    with override(language):
        shown = str(DayForm()["day"])
    assert re.findall(r"<option value=\"\d+\">(\w+)</option>", shown)[::11] == [first, last]
