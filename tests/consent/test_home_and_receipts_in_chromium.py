"""The journey of a holder through their wallet in Chromium: home, search, one receipt, print, take back."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from consent import decisions
from consent.models import Consent
from tests.consent.questions import LONG, WIRE, put
from tests.page_looks import check, picture
from tests.wallet.attempts import attempt_in
from tests.wallet.statuses import presented
from wallet.models import Credential, IdentityVerification, Wallet

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("signing_key"),
]


def shared(wallet: Wallet, **question: Any) -> Consent:
    consent = put(wallet, **question)
    decisions.grant(consent.id, wallet, now=timezone.now())
    presented(wallet, reference=consent.id)
    return Consent.objects.get(id=consent.id)


def test_the_home_in_every_state_is_for_everybody(as_alice: Any, alice: Wallet, live_server: Any) -> None:
    page, now = as_alice, timezone.now()
    Wallet.objects.update(passkey_offered_at=now)  # the offer of a passkey has buttons of its own
    states: dict[str, tuple[dict[str, Any], str]] = {
        "valid": ({}, ""),
        "ending": ({"expires_at": now + timedelta(days=9)}, ""),
        "expired": ({"expires_at": now - timedelta(days=9)}, ""),
        "revoked": ({"state": "revoked", "revoked_at": now}, ""),
        "lost": ({"sealed_identity": b""}, ""),
        "suspended": ({"state": "suspended"}, ""),
        "renewing": ({}, "started"),
        "checking": ({}, "processing"),
        "review": ({}, "review"),
        "declined": ({}, "declined"),
    }
    sealed = alice.credential.sealed_identity
    plain = {"state": "valid", "sealed_identity": sealed, "expires_at": now + timedelta(days=300)}
    for name, (change, attempt) in states.items():
        Credential.objects.update(**{**plain, **change})
        if attempt:
            IdentityVerification.objects.filter(provider="simulated").delete()
            attempt_in(attempt, alice, now)
        page.goto(f"{live_server.url}/wallet/")
        expect(page.get_by_role("heading", level=1)).to_have_text("Your wallet")
        expect(page.get_by_role("link", name="Home")).to_have_attribute("aria-current", "page")
        assert page.locator("main .button").count() <= 1
        picture(page, f"home-{name}")
        check(page)


def test_who_has_no_identity_yet_sees_one_button(as_alice: Any, alice: Wallet, live_server: Any) -> None:
    Credential.objects.all().delete()
    as_alice.goto(f"{live_server.url}/wallet/")
    expect(as_alice.locator("main .button")).to_have_text("Confirm your identity")
    picture(as_alice, "home-none")
    check(as_alice)


def test_the_values_are_behind_a_tap_also_without_scripts(
    browser: Any,
    as_alice: Any,
    alice: Wallet,
    live_server: Any,
) -> None:
    context = browser.new_context(java_script_enabled=False, locale="en-GB")
    context.add_cookies(as_alice.context.cookies())
    page = context.new_page()
    page.goto(f"{live_server.url}/wallet/")
    expect(page.get_by_text("Date of birth")).to_be_hidden()
    page.get_by_text("Show my details").click()
    expect(page.get_by_text("Date of birth")).to_be_visible()
    shared(alice)
    page.get_by_role("link", name="Receipts").click()
    page.get_by_text("Search your receipts").click()
    page.get_by_label("Who asked").fill("bank")
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_role("article")).to_have_count(1)
    page.get_by_role("link", name="Open the receipt").click()
    expect(page.get_by_role("button", name="Print or save")).to_be_hidden()
    expect(page.get_by_text("UTC").first).to_be_visible()
    context.close()


def test_a_holder_finds_a_receipt_prints_it_and_takes_it_back(
    as_alice: Any,
    alice: Wallet,
    live_server: Any,
) -> None:
    page = as_alice
    consent = shared(alice, transactions=[WIRE])
    shared(alice, requester=LONG)
    page.goto(f"{live_server.url}/wallet/")
    page.get_by_role("link", name="Receipts").click()
    expect(page.get_by_text("12,500.00 EUR")).to_be_visible()  # in the line of the payment
    page.get_by_text("Search your receipts").click()
    page.get_by_label("Who asked").fill("ACME")
    page.get_by_label("From").fill(consent.asked_at.date().isoformat())
    page.get_by_label("From").press("Enter")
    expect(page.get_by_role("article")).to_have_count(1)
    assert "zone=" in page.url
    picture(page, "receipts-found")
    check(page)
    page.get_by_role("link", name="Open the receipt").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("You approved a payment of 12,500.00 EUR")
    picture(page, "receipt")
    check(page)
    printed(page, alice, consent)
    page.get_by_role("link", name="Take back the details I shared with Acme Bank").click()
    expect(page.get_by_text("This does not erase what they have already read.")).to_be_visible()
    page.get_by_role("button", name="Take back").click()
    expect(page.get_by_role("status")).to_contain_text("is not valid any more")
    page.goto(f"{live_server.url}/wallet/history/{consent.id}/")
    expect(page.get_by_text("Shared, no longer valid")).to_be_visible()
    expect(page.get_by_text("This does not erase what they have already read.")).to_be_visible()


def printed(page: Any, alice: Wallet, consent: Consent) -> None:
    """On paper there is the receipt alone, in black on white."""
    page.emulate_media(media="print", color_scheme="dark")
    for selector in (
        ".site-header",
        ".site-footer",
        ".wallet-navigation",
        ".banner",
        "main .button",
        "main .button-row a",
    ):
        for element in page.locator(selector).all():
            expect(element).to_be_hidden()
    text = page.locator("main").inner_text()
    for words in (
        "Acme Bank",
        "bank.example",
        alice.email,
        str(consent.id),
        "Shared",
        "Given name",
        "12,500.00 EUR",
    ):
        assert words in text
    assert "DE89 3704 0044 0532 0130 00" in text
    assert re.search(r"GMT|UTC", text), "a time on paper names its zone"
    colours = page.evaluate(
        "() => [...document.querySelectorAll('body, main, main *')].map(e => getComputedStyle(e))"
        ".map(s => [s.color, s.backgroundColor])"
    )
    assert {back for _ink, back in colours} <= {"rgb(255, 255, 255)", "rgba(0, 0, 0, 0)"}
    for ink in {ink for ink, _back in colours}:
        assert max(int(part) for part in re.findall(r"\d+", ink)[:3]) <= 0x66, ink
    page.emulate_media(media="screen", color_scheme="light")


def test_times_are_those_of_the_person(browser: Any, as_alice: Any, alice: Wallet, live_server: Any) -> None:
    consent = shared(alice)
    Consent.objects.filter(id=consent.id).update(decided_at=datetime(2026, 3, 9, 23, 30, tzinfo=UTC))
    context = browser.new_context(timezone_id="Asia/Tokyo", locale="en-GB")
    context.add_cookies(as_alice.context.cookies())
    page = context.new_page()
    page.goto(f"{live_server.url}/wallet/history/")
    expect(page.get_by_text("10 March 2026")).to_be_visible()
    page.get_by_text("Search your receipts").click()
    page.get_by_label("From").fill("2026-03-10")
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_role("article")).to_have_count(1)
    page.get_by_role("link", name="Open the receipt").click()
    expect(page.get_by_text(re.compile(r"10 March 2026.*GMT\+0?9"))).to_be_visible()
    context.close()


def test_a_search_with_an_error_is_for_everybody(as_alice: Any, alice: Wallet, live_server: Any) -> None:
    shared(alice)
    as_alice.goto(f"{live_server.url}/wallet/history/?since=2026-03-10&until=2026-03-01")
    expect(as_alice).to_have_title(re.compile("^Error: Your receipts"))
    as_alice.get_by_role("link", name="The last day is before the first").click()
    expect(as_alice.get_by_label("To", exact=True)).to_be_focused()
    picture(as_alice, "receipts-error")
    check(as_alice)


def test_the_emails_are_switched_on_and_off(as_alice: Any, alice: Wallet, live_server: Any) -> None:
    as_alice.goto(f"{live_server.url}/wallet/history/")
    as_alice.get_by_role("button", name="Switch e-mails on").click()
    expect(as_alice.get_by_text("They are on.")).to_be_visible()
    assert Wallet.objects.get(id=alice.id).share_emails
    check(as_alice)
    as_alice.get_by_role("button", name="Switch e-mails off").click()
    expect(as_alice.get_by_text("They are off.")).to_be_visible()
