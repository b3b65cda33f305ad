"""The warning before a request ends, in a real browser: calm, in time, and with more time."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.core import mail
from django.test import Client
from django.utils import timezone
from playwright.sync_api import expect

from consent.models import Consent
from presentation.models import Interaction
from tests.code_page import enter_code
from tests.page_looks import check, picture
from tests.people import register
from tests.presentation.requests.deciding import ask
from tests.wallet.conftest import code_in
from wallet.models import RedirectTask, Wallet

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def question(
    page: Any, client: Client, alice: Wallet, live_server: Any, signing_key: Any, sign_in: Any
) -> str:
    """The address of a question to Alice that a relying party asked."""
    sign_in(alice)
    home = f"{live_server.url}/"
    asked = ask(client, register("Acme Bank", home), redirect_uri=home)
    for name in (settings.HOLDER_COOKIE_NAME, settings.BROWSER_COOKIE_NAME):
        page.context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": home}])
    return f"{live_server.url}{asked}"


@pytest.fixture
def code_page(page: Any, client: Client, alice: Wallet, live_server: Any, signing_key: Any) -> str:
    """The address of the page that asks Alice for a sign-in code, because a relying party waits."""
    home = f"{live_server.url}/"
    asked = ask(client, register("Acme Bank", home), redirect_uri=home)
    name = settings.BROWSER_COOKIE_NAME
    page.context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": home}])
    return f"{live_server.url}{client.post(asked).headers['Location']}"


def end_in(seconds: float) -> None:
    """Let the request end so soon."""
    for model in (Interaction, Consent, RedirectTask):
        model.objects.update(expires_at=timezone.now() + timedelta(seconds=seconds))


def test_a_warning_comes_two_minutes_before_the_end_without_taking_the_focus(
    page: Any, question: str
) -> None:
    page.clock.install()
    page.goto(question)
    warning = page.get_by_text("This request ends at")
    expect(warning).to_be_hidden()
    page.get_by_role("button", name="Don’t share").focus()
    before = page.evaluate("document.activeElement.textContent")

    page.clock.fast_forward("27:00")
    expect(warning).to_be_hidden()
    page.clock.fast_forward("01:30")

    expect(warning).to_be_visible()
    expect(page.locator("[aria-live=polite]").filter(has=warning)).to_be_visible()
    assert page.evaluate("document.activeElement.textContent") == before
    assert page.locator(".time-warning").bounding_box()["y"] >= 0


def test_more_time_is_given_without_leaving_the_page(page: Any, question: str) -> None:
    end_in(100)
    page.goto(question)
    page.evaluate("window.sameDocument = true")

    page.get_by_role("button", name="Give me more time").click()

    expect(page.locator(".time-warning").get_by_text("You have more time")).to_be_visible()
    assert page.evaluate("window.sameDocument")
    assert page.evaluate("document.activeElement.className") == "time-warning"
    for model in (Interaction, Consent):
        assert model.objects.get().expires_at > timezone.now() + timedelta(minutes=29)
    page.emulate_media(color_scheme="light")
    check(page)
    page.get_by_role("button", name="Share these details").click()
    expect(page).to_have_url(re.compile("#vp_token=ey"))


def test_more_time_is_offered_near_the_end_only(page: Any, question: str) -> None:
    page.clock.install()
    page.goto(question)
    expect(page.get_by_text("You can answer until")).to_be_visible()
    expect(page.get_by_role("button", name="more time")).to_have_count(0)

    page.clock.fast_forward("28:30")

    expect(page.get_by_role("button", name="more time")).to_have_count(1)


def test_an_expired_request_loses_its_answers_and_leads_back(page: Any, question: str) -> None:
    page.clock.install()
    page.goto(question)
    answers = page.locator("main button, header button").filter(has_text=re.compile("hare|ecline"))
    expect(answers).to_have_count(3)
    back = page.get_by_role("link", name="Go back to Acme Bank")
    expect(back).to_be_hidden()

    end_in(-1)
    page.clock.fast_forward("31:00")

    expect(page.locator("[aria-live=polite]").get_by_text("This request has expired")).to_be_visible()
    expect(
        page.locator(".sheet").get_by_text("This request has expired. Nothing was shared.")
    ).to_be_visible()
    for answer in answers.all():
        expect(answer).to_be_hidden()
    expect(page.get_by_text("You can answer until")).to_be_hidden()
    assert page.url == question
    page.emulate_media(color_scheme="light")
    picture(page, "expired")
    check(page)
    back.click()
    expect(page).to_have_url(re.compile("#error=access_denied"))


@pytest.mark.parametrize("event", ["focus", "pageshow", "visibilitychange"])
def test_a_computer_that_slept_past_the_end_shows_it_at_once(page: Any, question: str, event: str) -> None:
    """Timers stand still meanwhile, and the clock on the wall does not."""
    page.clock.install()
    page.goto(question)
    page.clock.pause_at(timezone.now() + timedelta(seconds=60))
    page.clock.set_fixed_time(timezone.now() + timedelta(minutes=31))
    share = page.get_by_role("button", name="Share these details")
    expect(share).to_be_visible()

    target = "document" if event == "visibilitychange" else "window"
    page.evaluate(f"{target}.dispatchEvent(new Event('{event}'))")

    expect(share).to_be_hidden()
    expect(page.get_by_role("link", name="Go back to Acme Bank")).to_be_visible()


def test_a_request_that_ended_meanwhile_gets_no_more_time_and_its_page_says_so(
    page: Any, question: str
) -> None:
    end_in(100)
    page.goto(question)
    end_in(-1)

    page.get_by_role("button", name="Give me more time").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("This request has expired")


def test_without_a_script_the_page_says_until_when_and_gives_more_time(
    browser: Any, page: Any, question: str
) -> None:
    end_in(100)
    plain = browser.new_context(java_script_enabled=False, viewport={"width": 390, "height": 844})
    plain.add_cookies(page.context.cookies())
    still = plain.new_page()
    still.goto(question)
    expect(still.get_by_text("You can answer until")).to_contain_text("UTC")
    expect(still.get_by_text("This request ends at")).to_be_hidden()

    still.get_by_role("button", name="I need more time").click()

    expect(still.get_by_role("status").get_by_text("You have more time: until")).to_be_visible()
    assert still.url == f"{question}?more_time=1"
    assert Consent.objects.get().expires_at > timezone.now() + timedelta(minutes=29)
    plain.close()


def test_the_warning_is_for_everybody(page: Any, question: str) -> None:
    end_in(100)
    page.goto(question)
    expect(page.get_by_role("button", name="Give me more time")).to_be_visible()
    picture(page, "warning")
    check(page)


def test_while_a_code_is_typed_more_time_is_given_and_what_was_typed_stays(page: Any, code_page: str) -> None:
    end_in(150)
    page.clock.install()
    page.goto(code_page)
    page.evaluate("window.sameDocument = true")
    page.get_by_label("code", exact=False).fill("123")
    expect(page.get_by_text("This request ends at")).to_be_hidden()
    page.clock.fast_forward("00:35")
    expect(page.get_by_text("This request ends at")).to_be_visible()
    assert page.evaluate("document.activeElement.tagName") == "INPUT"
    picture(page, "warning-code")
    check(page)

    page.get_by_role("button", name="Give me more time").click()

    expect(page.locator(".time-warning").get_by_text("You have more time")).to_be_visible()
    assert page.evaluate("window.sameDocument")
    assert page.get_by_label("code", exact=False).input_value() == "123"
    for model in (Interaction, RedirectTask):
        assert model.objects.get().expires_at > timezone.now() + timedelta(minutes=29)
    check(page)


def test_the_page_after_too_many_wrong_codes_gives_more_time_too(page: Any, code_page: str) -> None:
    """It is the answer to a form; its address shows another page."""
    end_in(100)
    page.goto(code_page)
    wrong = f"{(int(code_in(mail.outbox[-1].body)) + 1) % 1_000_000:06}"
    enter_code(page, wrong)
    for left in ("4 more times", "3 more times", "2 more times", "once more"):
        page.get_by_text(f"You can try {left}").first.wait_for()
        page.get_by_label("code", exact=False).fill(wrong)  # not submitted by itself again
        page.get_by_role("button", name="Continue").click()
    page.get_by_role("heading", name="That code no longer works").wait_for()

    page.get_by_role("button", name="Give me more time").click()

    expect(page.get_by_role("button", name="Send me a code")).to_be_visible()
    assert RedirectTask.objects.get().expires_at > timezone.now() + timedelta(minutes=29)


def test_without_a_script_more_time_leads_back_to_the_code(browser: Any, page: Any, code_page: str) -> None:
    end_in(100)
    plain = browser.new_context(java_script_enabled=False, viewport={"width": 390, "height": 844})
    plain.add_cookies(page.context.cookies())
    still = plain.new_page()
    still.goto(code_page)

    still.get_by_role("button", name="I need more time").click()

    expect(still.get_by_role("heading", level=1)).to_have_text("Enter the code")
    expect(still.get_by_role("status").get_by_text("You have more time: until")).to_be_visible()
    assert still.url == f"{code_page}?more_time=1"
    assert RedirectTask.objects.get().expires_at > timezone.now() + timedelta(minutes=29)
    plain.close()
