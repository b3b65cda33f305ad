"""Forms: codes in any notation, e-mail addresses, and identities as in documents."""

from datetime import date, timedelta

import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from tests.people import evidence_of
from wallet.claims import Identity
from wallet.forms import CodeForm, EmailForm
from wallet.identity.forms import IdentityForm

SEPARATORS = st.sampled_from(["", " ", "-", "  ", "\t", "\u00a0", "."])


@given(st.from_regex(r"[0-9]{6}", fullmatch=True), st.lists(SEPARATORS, min_size=7, max_size=7))
def test_six_digits_are_understood_however_they_are_spaced(code, separators):
    typed = "".join(a + b for a, b in zip(separators, [*code, ""], strict=True))
    form = CodeForm({"code": typed})
    assert form.is_valid(), form.errors
    assert form.cleaned_data["code"] == code


def test_full_width_digits_are_digits():
    form = CodeForm({"code": "１２３４５６"})
    assert form.is_valid()
    assert form.cleaned_data["code"] == "123456"


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


@pytest.mark.parametrize("typed", ["12345", "1234567", "12345a", "٣٤٥٦٧٨", "", "1" * 31])
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


def seen(**changes):
    """The input of an operator for an ordinary document."""
    typed = {
        "given_name": "Nora",
        "family_name": "New",
        "birth_date": "1999-12-31",
        "nationalities": "gb, ie",
        "reason": "Passport seen",
    }
    return IdentityForm(typed | changes)


def test_an_identity_is_what_was_typed():
    form = seen()
    assert form.is_valid()
    assert form.cleaned_data["identity"] == Identity("Nora", "New", date(1999, 12, 31), ("GB", "IE"))


def test_what_a_provider_read_comes_back_unchanged_through_the_form():
    identity = Identity("美咲", "佐々木", date(1987, 11, 3), ("JP",))
    form = IdentityForm(IdentityForm.initial_for(identity, evidence_of()) | {"reason": "as read"})
    assert form.is_valid()
    assert form.cleaned_data["identity"] == identity


def test_a_single_name_will_do():
    assert seen(family_name="").is_valid()
    assert seen(given_name="").is_valid()


@pytest.mark.parametrize(
    "changes",
    [
        {"given_name": "", "family_name": ""},
        {"birth_date": ""},
        {"birth_date": "31.12.1999 or so"},
        {"birth_date": "04/12/1990"},  # 12 April or 4 December
        {"birth_date": (timezone.now() + timedelta(days=2)).date().isoformat()},
        {"birth_date": "1066-10-14"},
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
