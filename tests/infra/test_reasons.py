"""A text that has to be given counts only if people can read it: everywhere, by one function."""

import unicodedata
from collections.abc import Iterator

import pytest
from django import forms
from django.urls import get_resolver
from hypothesis import given
from hypothesis import strategies as st

from infra.reasons import VisibleField, visible
from keys.operations import WithdrawalForm
from operators.views import ResetForm
from presentation.admin.support.forms import LookUpForm
from presentation.relying_parties.forms import SuspensionForm
from wallet.identity.forms import AskAgainForm, IdentityForm
from wallet.passkeys.views.own import PasskeyNameForm
from wallet.sign_in.forms import ReasonForm

INVISIBLE = (
    "\u200b" * 6,
    "\u2060\ufeff\u00ad" * 3,
    "\u3164" * 6,
    "\u2800" * 6,
    "\u0301" * 6,
    " \u00a0\u3000" * 3,
)
FIELDS = [
    *((form, "reason") for form in (ReasonForm, IdentityForm, AskAgainForm, WithdrawalForm, ResetForm)),
    *((SuspensionForm, "reason"), (LookUpForm, "reason"), (PasskeyNameForm, "name")),
]


@pytest.mark.parametrize("text", INVISIBLE)
@pytest.mark.parametrize(("form", "name"), FIELDS)
def test_what_nobody_can_read_is_no_reason(form: type[forms.Form], name: str, text: str) -> None:
    assert name in form({name: text}).errors


@pytest.mark.parametrize(
    "text", ["stolen", "Müller war’s", "紛失しました", "سُرق الهاتف", "می‌خواهم", "चोरी हो गया"]
)
@pytest.mark.parametrize(("form", "name"), FIELDS)
def test_a_reason_in_any_script_is_taken_as_it_is(form: type[forms.Form], name: str, text: str) -> None:
    filled = form({name: text})
    assert name not in filled.errors
    assert filled.cleaned_data[name] == text


def test_the_shortest_reason_for_a_look_is_counted_in_visible_characters() -> None:
    assert "reason" in LookUpForm({"reason": "abcd\u200b\u200b\u200b"}).errors
    assert "reason" not in LookUpForm({"reason": "abcde"}).errors


@given(st.text())
def test_visible_characters_are_at_most_those_that_are_left_without_spaces_and_controls(text: str) -> None:
    kept = [each for each in text if unicodedata.category(each)[0] not in "ZCM"]
    assert 0 <= visible(text) <= len(kept)
    assert visible(text + "\u200b" + text) == 2 * visible(text)


def every_form(parent: type[forms.BaseForm] = forms.Form) -> Iterator[type[forms.BaseForm]]:
    for form in parent.__subclasses__():
        yield from (form, *every_form(form))


def test_no_form_has_an_obligatory_reason_of_another_kind() -> None:
    get_resolver().url_patterns  # noqa: B018 (imports every module with forms)
    found = {form: form.base_fields["reason"] for form in every_form() if "reason" in form.base_fields}
    ours = {form: field for form, field in found.items() if field.required}
    free = {form: field for form, field in ours.items() if isinstance(field, forms.CharField)}
    assert len(free) >= 7
    assert [form for form, field in free.items() if not isinstance(field, VisibleField)] == []
