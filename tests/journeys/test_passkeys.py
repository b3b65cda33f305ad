"""Passkeys in Chromium, with virtual authenticators: added, used, refused, removed, and for a payment."""

import os
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from consent.models import Consent
from tests.barriers import assert_no_barriers_in_both_schemes
from tests.journeys.conftest import Holder
from tests.journeys.virtual_authenticators import Device
from tests.page_looks import assert_no_sideways_scroll
from tests.people import ALICE
from tests.presentation.openid_connect.shop import Shop
from tests.presentation.payloads import FULL, WIRE
from tests.presentation.requests.authorization_requests import PATH
from tests.relying_party import RelyingParty
from wallet.account.fresh import FRESH_FOR
from wallet.models import HolderSession, LoginCode, Passkey, PasskeyChallenge, Wallet

pytestmark = pytest.mark.browser
MakeHolder = Callable[..., Holder]
TRANSFER = {
    "type": WIRE,
    "credential_ids": ["basic"],
    "payload": FULL[WIRE] | {"amount": 950, "currency": "USD"},
}


@pytest.fixture
def device(page: Any) -> Device:
    return Device(page)


@pytest.fixture
def person(holder: MakeHolder, alice: Wallet, service: Any) -> Holder:
    """Alice, signed in by a code at the front door."""
    person = holder()
    return at_front_door(person, service).signs_in().sees("Your wallet")


def at_front_door(person: Holder, service: Any) -> Holder:
    person.page.goto(service.url + reverse("wallet_front_door"))
    person.page.get_by_label("Your e-mail address").fill(ALICE)
    return person


def on_security(person: Holder, service: Any) -> Holder:
    person.page.goto(service.url + reverse("wallet_security"))
    return person.sees("Sign-in and security")


def adds_passkey(person: Holder, service: Any) -> Holder:
    on_security(person, service).clicks("Add a passkey").sees("Add a passkey").clicks("Add a passkey")
    expect(person.page.get_by_role("status")).to_contain_text("Your passkey was added.")
    return person


def has_no_conditional_ui(page: Any) -> None:
    """As in a browser that does not offer passkeys in fields, so that the button is what counts."""
    page.add_init_script("PublicKeyCredential.isConditionalMediationAvailable = async () => false;")


def signs_out(person: Holder) -> Holder:
    person.page.get_by_role("button", name="Sign out").first.click()
    return person.sees("signed out")


def look(page: Any, name: str) -> None:
    """Accessible in both schemes, and no wider than a narrow and a wide window.

    Takes a screenshot of each if SCREENSHOTS names a folder.
    """
    for width in (320, 390, 1280):
        for scheme in ("light", "dark"):
            page.set_viewport_size({"width": width, "height": 844})
            page.emulate_media(color_scheme=scheme)
            if folder := os.environ.get("SCREENSHOTS"):
                page.screenshot(path=f"{folder}/passkeys-{name}-{width}-{scheme}.png", full_page=True)
    page.set_viewport_size({"width": 390, "height": 844})
    assert_no_barriers_in_both_schemes(page)
    assert_no_sideways_scroll(page)


def test_the_first_passkey_is_added_and_signs_in(person: Holder, device: Device, service: Any) -> None:
    look(person.page, "offer")
    on_security(person, service)
    look(person.page, "none")
    person.clicks("Add a passkey").sees("Add a passkey")
    look(person.page, "add")
    person.clicks("Add a passkey")
    expect(person.page.get_by_role("status")).to_contain_text("Your passkey was added.")
    look(person.page, "added")
    (stored,) = device.passkeys()
    assert stored["isResidentCredential"]
    assert ALICE not in str(stored)

    signs_out(person)
    has_no_conditional_ui(person.page)
    at_front_door(person, service).clicks("Sign in with a passkey").sees("Your wallet")

    assert Passkey.objects.get().last_used_at is not None
    assert not PasskeyChallenge.objects.filter(purpose="add").exists()


def test_a_passkey_signs_in_on_the_request_of_a_relying_party(
    person: Holder, device: Device, service: Any, bank: RelyingParty
) -> None:
    signs_out(adds_passkey(person, service))
    person.arrives().clicks("Sign in with a passkey").sees("Share these details with Acme Bank?")
    assert bank.verify(person.clicks("Share these").comes_back())["given_name"] == "Alice"


def test_the_browser_offers_passkeys_in_the_field_for_the_address(
    person: Holder, device: Device, service: Any
) -> None:
    """Conditional UI: with a virtual authenticator Chromium picks the only passkey by itself."""
    signs_out(adds_passkey(person, service))
    person.page.goto(service.url + reverse("wallet_front_door"))
    person.sees("Your wallet")
    assert LoginCode.objects.count() == 1


def test_a_device_that_does_not_verify_its_user_signs_nobody_in(
    person: Holder, device: Device, service: Any
) -> None:
    signs_out(adds_passkey(person, service))
    device.verifies_user(False)
    has_no_conditional_ui(person.page)
    at_front_door(person, service).clicks("Sign in with a passkey")
    expect(person.page.get_by_text("No passkey was used.")).to_be_visible()
    look(person.page, "no-passkey-used")
    assert not HolderSession.objects.exists()


def test_whoever_cancels_reads_what_to_do_and_goes_on_with_a_code(
    person: Holder, device: Device, service: Any
) -> None:
    signs_out(adds_passkey(person, service))
    device.forget()
    at_front_door(person, service).clicks("Sign in with a passkey")
    expect(person.page.get_by_text("No passkey was used.")).to_be_visible()
    person.clicks("Send me a code").sees("Enter the code")


def test_two_devices_have_a_passkey_each(
    person: Holder, device: Device, service: Any, browser: Any, holder: MakeHolder
) -> None:
    adds_passkey(person, service)
    context = browser.new_context(locale="en-GB", viewport={"width": 390, "height": 844})
    other = holder(page=context.new_page())
    second = Device(other.page)
    other.arrives().signs_in().sees("Share these")
    adds_passkey(other, service)
    expect(other.page.locator(".passkeys > li")).to_have_count(2)
    for one in (person, other):
        signs_out(one)
        one.arrives().clicks("Sign in with a passkey").sees("Share these details with Acme Bank?")
    assert len({each.name for each in Passkey.objects.all()}) == 2
    assert all(each.last_used_at for each in Passkey.objects.all())
    assert len(second.passkeys()) == 1
    context.close()


def test_a_device_that_has_a_passkey_already_says_so(person: Holder, device: Device, service: Any) -> None:
    adds_passkey(person, service).clicks("Add a passkey").sees("Add a passkey").clicks("Add a passkey")
    expect(person.page.get_by_text("This device has a passkey of your wallet already.")).to_be_visible()
    assert Passkey.objects.count() == 1


def test_a_passkey_is_renamed_and_removed_and_then_signs_nobody_in(
    person: Holder, device: Device, service: Any
) -> None:
    adds_passkey(person, service)
    person.clicks("Rename").sees("Rename your passkey")
    look(person.page, "rename")
    person.page.get_by_label("Name of this passkey").fill("My phone")
    person.clicks("Save the name").sees("Sign-in and security")
    expect(person.page.get_by_text("My phone").first).to_be_visible()
    person.clicks("Remove My phone").sees("Remove the passkey “My phone”?")
    look(person.page, "remove")
    person.clicks("Remove this passkey")
    expect(person.page.get_by_role("status")).to_contain_text("Your passkey was removed.")

    signs_out(person)
    person.arrives().clicks("Sign in with a passkey").sees("We don’t know this passkey")
    look(person.page, "unknown")
    person.clicks("Go back and try again").signs_in().sees("Share these")


def test_adding_a_passkey_after_a_while_asks_for_a_code_first(
    person: Holder, device: Device, service: Any
) -> None:
    HolderSession.objects.update(signed_in_at=timezone.now() - FRESH_FOR)
    on_security(person, service).clicks("Add a passkey").sees("Confirm that it is you")
    person.signs_in().sees("Add a passkey").clicks("Add a passkey").sees("Sign-in and security")
    assert Passkey.objects.count() == 1


def test_the_consent_page_of_a_wire_transfer_asks_for_the_passkey(
    person: Holder, device: Device, service: Any, bank: RelyingParty
) -> None:
    adds_passkey(person, service)
    HolderSession.objects.update(signed_in_at=timezone.now() - timedelta(minutes=20))
    codes = LoginCode.objects.count()
    person.arrives(transaction_data=[TRANSFER])
    expect(person.page.get_by_text("your device asks for your passkey")).to_be_visible()
    look(person.page, "wire")

    device.verifies_user(False)
    approves(person)
    expect(person.page.get_by_text("No passkey was used.")).to_be_visible()
    assert Consent.objects.get().decision == Consent.Decision.ASKED

    device.verifies_user(True)
    approves(person)
    answer = person.comes_back()

    assert bank.verify(answer)
    assert LoginCode.objects.count() == codes


def test_a_holder_without_the_device_confirms_a_wire_transfer_with_a_code(
    person: Holder, device: Device, service: Any, bank: RelyingParty
) -> None:
    adds_passkey(person, service)
    HolderSession.objects.update(signed_in_at=timezone.now() - timedelta(minutes=20))
    device.forget()
    person.arrives(transaction_data=[TRANSFER])
    approves(person)
    expect(person.page.get_by_text("No passkey was used.")).to_be_visible()
    person.clicks("Use a code from an e-mail instead").sees("Confirm that it is you").signs_in()
    expect(person.page.get_by_text("your device asks for your passkey")).to_have_count(0)
    approves(person)
    assert bank.verify(person.comes_back())


def approves(person: Holder) -> None:
    """Presses the button that approves."""
    person.page.locator("button[name=decision][value=share]").click()


def test_where_a_passkey_is_demanded_no_code_will_do(person: Holder, service: Any, device: Device) -> None:
    """OpenID Connect: an essential `acr` with the value `phr`."""
    adds_passkey(person, service)
    HolderSession.objects.update(by_passkey=False)
    shop = Shop.registered()
    demanded = {"id_token": {"acr": {"essential": True, "values": ["phr"]}}}
    person.page.goto(f"{service.url}{PATH}?{urlencode(shop.asks(claims=demanded))}")
    person.sees("Sign in with a passkey")
    expect(person.page.get_by_text("A code from an e-mail is not enough.")).to_be_visible()
    expect(person.page.get_by_text("you need an up-to-date browser")).to_be_hidden()
    assert_no_barriers_in_both_schemes(person.page)
    assert_no_sideways_scroll(person.page)
    person.clicks("Sign in with a passkey")
    expect(person.page.get_by_role("heading", level=1)).to_contain_text("Shop")
    assert HolderSession.objects.get().by_passkey
