"""In Chromium: an address is changed and undone, and a wallet moves after its mailbox was lost."""

import os
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from sandbox.models import MailboxEmail
from tests.barriers import assert_no_barriers_in_both_schemes
from tests.code_page import enter_code
from tests.narrow_and_wide_windows import NARROWEST, overflow
from wallet.account.recovery import sweeping
from wallet.models import FormerAddress, HolderSession, Recovery, Wallet

pytestmark = pytest.mark.browser
OLD, NEW = "alice@example.org", "alice.with.a.rather.long.address.of.her.own@mailboxes.example.net"
DAY = timedelta(days=1)
WITHOUT_JAVASCRIPT: list[Any] = []  # contexts


def look(page: Any, name: str, heading: str) -> None:
    """Check the heading, accessibility in both schemes, and that nothing is too wide."""
    expect(page.get_by_role("heading", level=1)).to_contain_text(heading)
    if page.context in WITHOUT_JAVASCRIPT:  # axe is a script
        return
    for width, scheme in ((NARROWEST, "dark"), (1280, "light")):
        page.set_viewport_size({"width": width, "height": 844})
        page.emulate_media(color_scheme=scheme)
        if folder := os.environ.get("SCREENSHOTS"):
            page.screenshot(path=f"{folder}/address-{name}-{width}-{scheme}.png", full_page=True)
        assert not overflow(page)
    page.set_viewport_size({"width": 390, "height": 844})
    assert_no_barriers_in_both_schemes(page)


def letter_to(email: str) -> str:
    return str(MailboxEmail.objects.filter(recipient=email).latest("id").text)


def code_to(email: str) -> str:
    (found,) = re.findall(r"(?<!\d)\d{6}(?!\d)", letter_to(email))
    return str(found)


def link_to(email: str) -> str:
    (found,) = re.findall(r"http://\S+/(?:address-undo|move-stop)/\S+", letter_to(email))
    return str(found)


def enters_code(page: Any, email: str) -> None:
    page.get_by_role("heading", name="Enter the code").wait_for()  # so the letter has been sent
    enter_code(page, code_to(email))


def confirms_new_address(page: Any) -> None:
    page.get_by_label("Code from the e-mail").wait_for()
    page.get_by_label("Code from the e-mail").fill(code_to(NEW))
    page.get_by_role("button", name="Change the address").click()


def signs_in(page: Any, service: Any, email: str) -> None:
    page.goto(f"{service.url}/wallet/sign-in/")
    page.get_by_label("Your e-mail address").fill(email)
    page.get_by_role("button", name="Send me a code").click()
    enters_code(page, email)
    page.wait_for_url("**/wallet/")


def is_verified(page: Any) -> None:
    """The person of the simulated provider's first persona."""
    page.get_by_role("button", name="Agree and begin").click()
    page.get_by_role("button", name="Submit").click()


@pytest.fixture(params=[True, False], ids=["with JavaScript", "without JavaScript"])
def person(request: pytest.FixtureRequest, browser: Any, page: Any) -> Iterator[Any]:
    if request.param:
        yield page
        return
    context = browser.new_context(java_script_enabled=False, locale="en-GB")
    context.set_default_timeout(30_000)
    WITHOUT_JAVASCRIPT.append(context)
    yield context.new_page()
    context.close()


def test_an_address_is_changed_and_undone(service: Any, signing_key: Any, page: Any) -> None:
    signs_in(page, service, OLD)
    HolderSession.objects.update(signed_in_at=timezone.now() - timedelta(minutes=6))
    page.goto(f"{service.url}/wallet/security/")
    look(page, "security", "Sign-in and security")
    page.get_by_role("link", name="Change the address").click()
    look(page, "prove", "Confirm that it is you")
    page.get_by_role("button", name="Send me a code").click()
    enters_code(page, OLD)
    look(page, "begin", "Change your e-mail address")
    page.get_by_label("New e-mail address").fill("nothing")
    page.get_by_role("button", name="Send a code to the new address").click()
    look(page, "begin-wrong", "Change your e-mail address")
    page.get_by_label("New e-mail address").fill(NEW)
    page.get_by_role("button", name="Send a code to the new address").click()
    look(page, "confirm", "Confirm the new address")
    code = code_to(NEW)
    page.get_by_label("Code from the e-mail").fill(f"{(int(code) + 1) % 1_000_000:06}")
    page.get_by_role("button", name="Change the address").click()
    look(page, "confirm-wrong", "Confirm the new address")
    confirms_new_address(page)
    look(page, "done", "Your e-mail address is changed")
    assert Wallet.objects.get().email == NEW

    link = link_to(OLD)
    page.goto(link)
    look(page, "undo", "Undo the change of your e-mail address?")
    page.get_by_role("button", name="Undo the change").click()
    look(page, "undone", "The change is undone")
    assert Wallet.objects.get().email == OLD
    page.get_by_role("button", name="Español").click()
    look(page, "undone-es", "El cambio se ha deshecho")
    page.get_by_role("button", name="English").click()
    FormerAddress.objects.update(expires_at=timezone.now())
    page.goto(link)
    look(page, "undo-gone", "This link no longer works")
    page.get_by_role("link", name="Sign in").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Sign in to your wallet")


def test_a_sign_in_with_the_old_address_says_what_to_do(service: Any, signing_key: Any, page: Any) -> None:
    signs_in(page, service, OLD)
    page.goto(f"{service.url}/wallet/security/address/")
    page.get_by_label("New e-mail address").fill(NEW)
    page.get_by_role("button", name="Send a code to the new address").click()
    confirms_new_address(page)
    expect(page.get_by_role("heading", level=1)).to_contain_text("is changed")
    page.context.clear_cookies()
    page.goto(f"{service.url}/wallet/sign-in/")
    page.get_by_label("Your e-mail address").fill(OLD)
    page.get_by_role("button", name="Send me a code").click()
    enters_code(page, OLD)
    look(page, "reserved", "Your wallet has another e-mail address now")


def test_a_wallet_moves_after_its_mailbox_was_lost(service: Any, signing_key: Any, person: Any) -> None:
    page = person
    signs_in(page, service, OLD)
    page.goto(f"{service.url}/wallet/identity/")
    page.get_by_role("button", name=re.compile("identity|Renew|Confirm", re.IGNORECASE)).first.click()
    is_verified(page)
    page.context.clear_cookies()

    page.goto(f"{service.url}/wallet/sign-in/")
    page.get_by_role("link", name="I can’t get into this mailbox any more").click()
    look(page, "recovery-begin", "Get your wallet back")
    page.get_by_label("An e-mail address that you can read").fill(NEW)
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("button", name="Send me a code").click()
    enters_code(page, NEW)
    look(page, "recovery-ask", "Which mailbox is lost?")
    page.get_by_label("E-mail address of the lost mailbox").fill(OLD)
    page.get_by_role("button", name="Continue to the identity check").click()
    begun = page.url
    page.goto(f"{service.url}/wallet/lost-mailbox/move/")
    look(page, "recovery-asked", "Confirm your identity")
    page.goto(begun)
    is_verified(page)
    look(page, "recovery-waiting", "Your old wallet is going to move here")

    now = timezone.now()
    for days in (0, 3.5, 6):
        sweeping.sweep(now=now + days * DAY)
    page.goto(link_to(OLD))
    look(page, "recovery-stop", "Stop the move of your wallet?")
    page.goto(f"{service.url}/wallet/lost-mailbox/move/")
    sweeping.sweep(now=now + 7 * DAY)
    assert Recovery.objects.get().state == "moved"
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Sign in to your wallet")
    signs_in(page, service, NEW)
    page.goto(f"{service.url}/wallet/identity/")
    expect(page.get_by_text("Simulated check of the sandbox")).to_be_visible()
    assert Wallet.objects.get().email == NEW


def test_whoever_reads_the_old_mailbox_stops_the_move(service: Any, signing_key: Any, page: Any) -> None:
    signs_in(page, service, OLD)
    wallet = Wallet.objects.get()
    new = Wallet.objects.create(email=NEW, created_at=timezone.now())
    now = timezone.now()
    facts = {"state": "waiting", "asked_at": now, "matched_at": now, "due_at": now + 7 * DAY}
    Recovery.objects.create(old=wallet, new=new, **facts)
    page.goto(f"{service.url}/wallet/security/")
    look(page, "banner", "Sign-in and security")
    sweeping.sweep(now=now)
    page.get_by_role("button", name="Stop this").click()
    look(page, "recovery-stopped", "The move is stopped")
    page.get_by_role("button", name="Español").click()
    expect(page.locator("html")).to_have_attribute("lang", "es")
    page.get_by_role("button", name="English").click()
    look(page, "recovery-stopped-again", "The move is stopped")
    page.goto(link_to(OLD))
    look(page, "recovery-stopped-link", "The move is stopped")
    Recovery.objects.update(state="moved")
    page.reload()
    look(page, "recovery-stop-gone", "There is no move to stop")
    Recovery.objects.update(state="stopped")
    signs_in_as_new(page, service)


def signs_in_as_new(page: Any, service: Any) -> None:
    page.context.clear_cookies()
    signs_in(page, service, NEW)
    page.goto(f"{service.url}/wallet/lost-mailbox/move/")
    look(page, "recovery-state-stopped", "Your old wallet does not move")
    Recovery.objects.update(state="refused")
    page.reload()
    look(page, "recovery-refused", "We found no wallet to move")
