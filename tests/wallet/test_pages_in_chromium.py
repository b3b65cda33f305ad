"""The wallet's pages in Chromium: accessible by axe, without horizontal scrolling, and never a dead end."""

import os
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from infra.models import Allowance
from tests.barriers import assert_no_barriers
from tests.code_page import enter_code
from tests.day_inputs import type_day
from tests.people import NORA, enroll
from tests.wallet.attempts import attempt_in
from tests.wallet.browser_redirect_tasks import make_redirect_task
from tests.wallet.looking_at_pages import look
from tests.wallet.requesting_codes import strangers_use_up
from tests.wallet.signing_in import sign_in
from wallet.identity.state_machine import SUBMISSIONS
from wallet.models import (
    Credential,
    IdentityVerification,
    LoginCode,
    LoginLink,
    RedirectTask,
    Wallet,
)
from wallet.sign_in.allowances import LINKS_PER_EMAIL, TRIES_PER_CLIENT

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_new_person_is_verified_after_a_second_try(visit: Any) -> None:
    page = sign_in(visit)
    visit("wallet_identity")
    look(page, "identity-start", "Confirm your identity")
    page.get_by_role("button", name="Agree and begin").click()
    look(page, "sandbox-identity", "What should the check find?")
    visit("wallet_identity")
    look(page, "identity-started", "Continue the identity check")
    page.get_by_role("link", name="Go to the identity check").click()
    page.get_by_text("Try again, then approved").click()
    page.get_by_role("button", name="Submit").click()
    look(page, "identity-again", "Please try again")
    page.get_by_role("button", name="Try again").click()
    page.get_by_text("Try again, then approved").click()
    page.get_by_role("button", name="Submit").click()
    page.wait_for_url("**/signed-out/?done")
    visit("", path=reverse("sandbox_mailbox"))
    look(page, "sandbox-mailbox", "Sandbox mailbox")


@pytest.mark.parametrize(
    ("outcome", "heading"),
    [
        ("Goes to review", "Your check needs a closer look"),
        ("Declined", "Your identity could not be confirmed"),
        ("Provider error", "The identity check had a problem"),
    ],
)
def test_every_other_outcome_leads_back(visit: Any, outcome: str, heading: str) -> None:
    page = sign_in(visit)
    visit("wallet_identity")
    page.get_by_role("button", name="Agree and begin").click()
    page.get_by_text(outcome, exact=True).click()
    page.get_by_role("button", name="Submit").click()
    look(page, f"identity-{outcome.split()[-1].lower()}", heading)
    page.get_by_role("link", name=re.compile("eturn to Acme Bank")).click()
    page.wait_for_url("**/signed-out/?left")


@pytest.mark.usefixtures("windows_just_begun")
def test_the_rarer_pages_have_no_barriers_either(visit: Any, now: Any, live_server: Any) -> None:
    page = sign_in(visit)
    nora = Wallet.objects.get()
    attempt = attempt_in("cancelled", nora, now, redirect_task=visit.redirect_task)
    visit("wallet_identity")
    look(page, "identity-cancelled", "Confirm your identity")
    for _ in range(5):
        SUBMISSIONS.take(str(nora.id), now=now)
    visit("wallet_identity")
    look(page, "identity-paused", "Too many attempts")
    Credential.objects.create(
        wallet=nora,
        verification=attempt,
        state="suspended",
        sealed_identity=b"",
        issued_at=now,
        expires_at=now,
    )
    visit("wallet_identity")
    look(page, "identity-held", "Your verified identity is suspended")
    other = make_redirect_task(Client(), now=now, email="somebody@example.org")
    visit("wallet_sign_in", other)
    look(page, "switch", "Another wallet is signed in")
    page.get_by_role("button", name="Continue as somebody@example.org").click()
    page.get_by_role("button", name="Send me a code").click()
    LoginCode.objects.update(tries_left=0)
    visit("wallet_sign_in", other)
    page.get_by_role("button", name="Send me a code").click()
    look(page, "not-now", "Confirm your e-mail address")
    RedirectTask.objects.update(expires_at=now)
    visit("wallet_sign_in", other)
    page.wait_for_url("**/left/")  # straight to the page about the request
    RedirectTask.objects.filter(id=other.id).update(on_behalf_of="")
    visit("wallet_sign_in", other)
    look(page, "gone", "This request has expired")
    page.context.clear_cookies()
    visit("wallet_sign_in", other)
    look(page, "not-yours", "This request has expired")
    page.get_by_role("link", name="Sign in to your wallet").click()
    look(page, "front-door", "Sign in to your wallet")
    page.get_by_role("button", name="Send me a code").click()
    look(page, "front-door-wrong", "Sign in to your wallet")


def test_a_holder_renews_from_their_own_page_and_each_end_has_a_page(visit: Any, live_server: Any) -> None:
    page = sign_in(visit)
    home = f"{live_server.url}/wallet/"
    page.goto(home)
    look(page, "home-none", "Your wallet")
    page.get_by_role("button", name="Confirm your identity").click()
    page.get_by_role("button", name="Agree and begin").click()
    page.get_by_text("Approved", exact=True).click()
    page.get_by_role("button", name="Submit").click()
    page.wait_for_url("**/wallet/")
    look(page, "home-valid", "Your wallet")
    page.get_by_role("button", name="Renew or change").click()
    look(page, "identity-renew", "Renew or change your verified identity")
    ended = datetime(2026, 5, 4, tzinfo=UTC)
    for name, change, heading in (
        ("expired", {"expires_at": ended}, "Your verified identity has expired"),
        ("revoked", {"state": "revoked", "revoked_at": ended}, "Your verified identity was revoked"),
        ("lost", {"sealed_identity": b"", "state": "valid"}, "Your verified identity cannot be read"),
    ):
        later = timezone.now() + timedelta(days=300)
        Credential.objects.update(**({"expires_at": later} | change))
        page.goto(home)
        look(page, f"home-{name}", "Your wallet")
        page.get_by_role("button", name="Confirm your identity").click()
        look(page, f"identity-{name}", heading)


def test_after_five_wrong_codes_one_button_sends_a_new_one(visit: Any) -> None:
    page = visit("wallet_sign_in")
    page.get_by_role("button", name="Send me a code").click()
    code = page.locator(".banner-code").inner_text()
    wrong = f"{(int(code) + 1) % 1_000_000:06}"
    enter_code(page, wrong)
    for left in ("4 more times", "3 more times", "2 more times", "once more"):
        page.get_by_text(f"You can try {left}").first.wait_for()
        page.get_by_label("Code from the e-mail").fill(wrong)  # not submitted by itself again
        page.get_by_role("button", name="Continue").click()
    look(page, "code-used-up", "That code no longer works")
    assert page.locator("input:not([type=hidden])").count() == 0
    button = page.get_by_role("button", name="Send a new code")
    assert page.locator("main button").count() == 1
    assert re.fullmatch(r"Send a new code \([01]:\d\d\)", button.inner_text())  # at most once per minute
    button.click(force=True)
    assert page.get_by_role("heading", level=1).inner_text() == "That code no longer works"
    RedirectTask.objects.update(code_sent_at=timezone.now() - timedelta(minutes=2))
    page.evaluate("Date.now = () => new Date().getTime() + 60_000")
    page.locator("main button:not([aria-disabled])").wait_for()
    button.click()
    look(page, "code-again", "Enter the code")
    enter_code(page)
    page.wait_for_url("**/signed-out/?done")


def test_with_strangers_at_their_limit_a_link_signs_in(visit: Any, now: Any, settings: Any) -> None:
    strangers_use_up(now)
    page = visit("wallet_sign_in")
    settings.BASE_URL = page.url.partition("/wallet/")[0]
    Allowance.objects.filter(expires_at=now + LINKS_PER_EMAIL.window).delete()  # so that a new link is sent
    page.get_by_role("button", name="Send me a code").click()
    look(page, "link-sent", "Open the link in the e-mail")
    page.get_by_role("link", name="Your sign-in link").click()
    look(page, "link", "Sign in")
    address = page.url
    page.get_by_role("button", name="Sign in here").click()
    page.wait_for_url("**/signed-out/?done")
    page.context.clear_cookies()
    page.goto(address)
    look(page, "link-gone", "This link no longer works")
    LoginLink.objects.update(used_at=None)
    page.goto(address)
    look(page, "link-elsewhere", "Open this link in the browser in which you are signing in")


@pytest.mark.usefixtures("windows_just_begun")
def test_a_person_whose_network_has_no_tries_left_has_a_link_sent_instead_and_signs_in(
    visit: Any, settings: Any
) -> None:
    page = visit("wallet_sign_in")
    settings.BASE_URL = page.url.partition("/wallet/")[0]
    page.get_by_role("button", name="Send me a code").click()
    code = page.locator(".banner-code").inner_text()
    for _ in range(TRIES_PER_CLIENT.most):
        TRIES_PER_CLIENT.take("127.0.0.1", now=timezone.now())
    # The button waits for a minute after the last e-mail, and this e-mail was sent two minutes ago.
    RedirectTask.objects.update(code_sent_at=timezone.now() - timedelta(minutes=2))
    enter_code(page, code)
    page.get_by_text("Too many wrong codes came from your network").first.wait_for()
    look(page, "code-by-link", "Enter the code")
    page.get_by_role("button", name="Send a link instead").click()
    look(page, "link-sent-instead", "Open the link in the e-mail")
    page.get_by_role("link", name="Your sign-in link").click()
    page.get_by_role("button", name="Sign in here").click()
    page.wait_for_url("**/signed-out/?done")


def test_a_suspended_person_and_an_in_person_check(visit: Any, settings: Any, now: Any) -> None:
    settings.IDENTITY_PROVIDERS = {"in_person": {}}
    page = sign_in(visit)
    visit("wallet_identity")
    page.get_by_role("button", name="Agree and begin").click()
    look(page, "identity-in-person", "Your identity is checked in person")
    page.get_by_role("button", name="Ask for the check").click()
    look(page, "identity-in-person-review", "Visit us with your document")
    Wallet.objects.update(state="suspended")
    visit("wallet_sign_in", make_redirect_task(Client(), now=now))
    page.get_by_role("button", name="Send me a code").click()
    enter_code(page)
    look(page, "suspended", "This wallet is suspended")


def test_an_operator_reviews_an_identity(visit: Any, live_server: Any, now: Any) -> None:
    from django.contrib.auth.models import User

    page = sign_in(visit)
    visit("wallet_identity")
    page.get_by_role("button", name="Agree and begin").click()
    page.get_by_text("Goes to review").click()
    page.get_by_role("button", name="Submit").click()
    User.objects.create_superuser("olga", password="a long enough one")
    verification = IdentityVerification.objects.get()
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(live_server.url + reverse("admin:wallet_identityverification_change", args=[verification.pk]))
    page.get_by_label("Username").fill("olga")
    page.get_by_label("Password").fill("a long enough one")
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("link", name="Claim").click()
    page.get_by_role("button", name="Claim").click()
    look(page, "admin-verification", "View identity verification", narrow=False)
    page.get_by_role("link", name="Approve").click()
    look(page, "admin-approve", "Approve", narrow=False)
    page.get_by_label("Reason").fill("Passport seen")
    page.get_by_role("button", name="Approve").click()
    page.get_by_role("cell", name="Passport seen").wait_for()
    assert Credential.objects.get().wallet.email == NORA
    page.goto(live_server.url + reverse("admin:wallet_wallet_changelist"))
    look(page, "admin-wallets", "Select wallet to view", narrow=False)
    enroll("zoe@example.org", given_name="Zoe", family_name="Z", birth_date=now.date() - timedelta(days=9000))
    page.goto(live_server.url + reverse("admin:wallet_credential_changelist"))
    look(page, "admin-credentials", "Select credential to view", narrow=False)


def test_a_person_chooses_sends_pictures_and_an_operator_sees_them(
    visit: Any, settings: Any, live_server: Any, tmp_path: Any
) -> None:
    from django.contrib.auth.models import User

    from tests.wallet.pictures import picture

    settings.IDENTITY_PROVIDERS = {"from_afar": {}, "in_person": {}}
    RedirectTask.objects.update(asks_for=["given_name", "age_equal_or_over.18"])
    page = sign_in(visit)
    visit("wallet_identity")
    page.get_by_text("Acme Bank wants to confirm: your given name, that you are 18 or over").wait_for()
    look(page, "identity-choice", "Confirm your identity")
    page.set_viewport_size({"width": 320, "height": 640})
    page.emulate_media(color_scheme="dark")
    look(page, "identity-choice-narrow-dark", "Confirm your identity")
    page.get_by_role("button", name="Choose: Send pictures of your document").click()
    look(page, "identity-upload", "Send pictures of your document")
    page.get_by_role("button", name="Send").click()
    look(page, "identity-upload-wrong", "Send pictures of your document")
    photo = tmp_path / "p.jpg"
    photo.write_bytes(picture((1200, 900)))
    page.get_by_label("Given names").fill("Nora")
    page.get_by_label("Family name").fill("New")
    type_day(page, "Date of birth", "1999-12-31")
    page.get_by_label("Year").fill("99")
    page.get_by_label("Nationality").select_option("Ireland")
    shown = page.get_by_role("img", name="What you chose, as it will be sent")
    expect(shown).to_have_count(0)
    page.get_by_label("Picture of the front of your document").set_input_files(photo)
    expect(shown).to_be_visible()
    assert shown.bounding_box()["width"] > 200, "on a phone of 320 pixels"
    corner = "canvas => [...canvas.getContext('2d').getImageData(5, 5, 1, 1).data.slice(0, 2)]"
    red, green = shown.evaluate(corner)
    assert (red > 200, green < 60) == (True, True), "it is the picture"
    look(page, "identity-upload-chosen", "Send pictures of your document")
    unusable = tmp_path / "p.txt"
    unusable.write_text("no picture")
    page.get_by_label("Picture of the front of your document").set_input_files(unusable)
    expect(shown).to_have_count(0)
    page.get_by_label("Picture of the front of your document").set_input_files(photo)
    page.get_by_role("button", name="Send").click()
    page.get_by_text("We have this picture.").wait_for()
    look(page, "identity-upload-kept", "Send pictures of your document")
    page.get_by_role("link", name="Enter a date that exists").click()
    expect(page.get_by_label("Day")).to_be_focused()
    page.get_by_role("button", name="Español").click()
    expect(page.get_by_label("Nacionalidad")).to_have_value("IE")
    expect(page.get_by_label("Mes").locator("option")).to_contain_text(["", "enero", "febrero"])
    page.get_by_role("button", name="English").click()
    type_day(page, "Date of birth", "1999-12-31")
    page.get_by_label("Picture of your face").set_input_files(photo)
    page.get_by_role("button", name="Send").click()
    look(page, "identity-upload-review", "We have your pictures")
    page.set_viewport_size({"width": 1280, "height": 900})
    User.objects.create_superuser("root", password="a long pass phrase 1")
    page.goto(f"{live_server.url}/admin/")
    page.get_by_label("Username").fill("root")
    page.get_by_label("Password").fill("a long pass phrase 1")
    page.get_by_role("button", name="Log in").click()
    attempt = IdentityVerification.objects.get()
    page.goto(f"{live_server.url}/admin/wallet/identityverification/{attempt.pk}/change/")
    page.get_by_role("link", name="Claim").click()
    page.locator("form input[type=submit], form button[type=submit]").last.click()
    page.get_by_role("heading", name="What you review").wait_for()
    page.wait_for_load_state("networkidle")
    shown = page.locator("figure img").first
    shown.scroll_into_view_if_needed()
    page.wait_for_function("() => [...document.querySelectorAll('figure img')].some(i => i.naturalWidth > 0)")
    if folder := os.environ.get("SCREENSHOTS"):
        page.screenshot(path=f"{folder}/admin-review.png", full_page=True)
    assert_no_barriers(page)
