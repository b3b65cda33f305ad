"""The check in person: where to go and what to bring, a case number to show, and an operator who finds it."""

import re
from typing import Any

import pytest
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from tests.people import NORA
from tests.wallet.browser_redirect_tasks import make_redirect_task
from tests.wallet.looking_at_pages import look
from tests.wallet.signing_in import sign_in as sign_in_to
from wallet.models import IdentityVerification
from wallet.providers.in_person import ALPHABET, as_case_number, case_number, qr_code

pytestmark = pytest.mark.slow

PLACE = {
    "place": "12 Main Street, 2nd floor",
    "hours": "Monday to Friday, 9:00 to 17:00",
    "bring": "A passport <b>or</b> an identity card",
}


@pytest.fixture
def asked(client, nora, sign_in, settings, now):
    """Nora has asked for the visit; her redirect task."""
    settings.IDENTITY_PROVIDERS = {"in_person": PLACE}
    redirect_task = make_redirect_task(client, now=now)
    sign_in(nora)
    client.post(reverse("wallet_identity_start", args=[redirect_task.id]))
    client.post(reverse("wallet_identity_in_person", args=[redirect_task.id]))
    return redirect_task


def test_where_when_and_with_what_is_said_before_and_after_asking(client, nora, sign_in, settings, now):
    settings.IDENTITY_PROVIDERS = {"in_person": PLACE}
    redirect_task = make_redirect_task(client, now=now)
    sign_in(nora)
    client.post(reverse("wallet_identity_start", args=[redirect_task.id]))
    address = reverse("wallet_identity_in_person", args=[redirect_task.id])
    before = client.get(address).content.decode()
    client.post(address)
    after = client.get(reverse("wallet_identity", args=[redirect_task.id])).content.decode()
    for text in (before, after):
        assert PLACE["place"] in text
        assert PLACE["hours"] in text
        assert "A passport &lt;b&gt;or&lt;/b&gt; an identity card" in text


def test_what_the_operator_has_not_said_is_left_out(client, nora, redirect_task, sign_in, settings):
    settings.IDENTITY_PROVIDERS = {"in_person": {}}
    sign_in(nora)
    client.post(reverse("wallet_identity_start", args=[redirect_task.id]))
    text = client.get(reverse("wallet_identity_in_person", args=[redirect_task.id])).content.decode()
    assert "Opening times" not in text
    assert "<dl" not in text


def test_the_page_shows_the_case_number_and_a_qr_code_of_nothing_else(client, asked):
    response = client.get(reverse("wallet_identity", args=[asked.id]))
    text = response.content.decode()
    number = IdentityVerification.objects.get().provider_reference
    assert re.fullmatch(f"[{ALPHABET}]{{4}}-[{ALPHABET}]{{4}}", number)
    assert f"<strong>{number}</strong>" in text
    assert str(qr_code(number)) in text
    assert "style=" not in text
    assert "'unsafe-inline'" not in response.headers["Content-Security-Policy"]


def test_the_case_number_stays_while_the_attempt_does(client, asked):
    before = IdentityVerification.objects.get().provider_reference
    client.get(reverse("wallet_identity", args=[asked.id]))
    client.get(reverse("wallet_identity_continue", args=[asked.id]))
    assert IdentityVerification.objects.get().provider_reference == before


@pytest.mark.parametrize("typed", ["{}", " {} ", "{lower}", "{bare}", "{spaced}", "{bare_lower}"])
def test_the_operator_finds_the_attempt_however_the_number_was_typed(asked, olga, alice, typed):
    attempt = IdentityVerification.objects.get(wallet__email=NORA)
    number = attempt.provider_reference
    typed = typed.format(
        number,
        lower=number.lower(),
        bare=number.replace("-", ""),
        spaced=number.replace("-", " "),
        bare_lower=number.replace("-", "").lower(),
    )
    listing = reverse("admin:wallet_identityverification_changelist")
    text = olga.get(listing, {"q": typed}).content.decode()
    assert reverse("admin:wallet_identityverification_change", args=[attempt.id]) in text
    assert str(alice.credential.verification_id) not in text


def test_other_searches_find_what_they_found_before(asked, olga):
    attempt = IdentityVerification.objects.get()
    listing = reverse("admin:wallet_identityverification_changelist")
    for term, found in ((NORA, True), (str(attempt.id), True), ("ABCD-2345", False), ("example.org", False)):
        text = olga.get(listing, {"q": term}).content.decode()
        assert (reverse("admin:wallet_identityverification_change", args=[attempt.id]) in text) is found


def test_case_numbers_differ_and_have_no_letters_that_look_alike():
    numbers = {case_number() for _ in range(500)}
    assert len(numbers) == 500
    assert not set("01ILOU") & set("".join(numbers))


@given(typed=st.text(max_size=20))
def test_whatever_is_typed_is_a_case_number_or_nothing(typed):
    found = as_case_number(typed)
    assert found == "" or as_case_number(found) == found


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_the_visit_has_no_barriers_on_a_small_phone(visit: Any, settings: Any) -> None:
    settings.IDENTITY_PROVIDERS = {"in_person": PLACE}
    page = sign_in_to(visit)
    page.set_viewport_size({"width": 320, "height": 640})
    visit("wallet_identity")
    page.get_by_role("button", name="Agree and begin").click()
    look(page, "identity-in-person", "Your identity is checked in person")
    page.get_by_role("button", name="Ask for the check").click()
    look(page, "identity-visit", "Visit us with your document")
    assert page.get_by_role("img", name="The case number as a QR code").bounding_box()["width"] > 150
    page.emulate_media(color_scheme="dark")
    look(page, "identity-visit-dark", "Visit us with your document")
