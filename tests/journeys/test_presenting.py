"""Returning and new holders, every result of verification, and every interruption."""

import json
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from consent.models import Consent
from presentation.models import Interaction
from tests.code_page import enter_code
from tests.journeys.conftest import Application, Holder
from tests.narrow_and_wide_windows import look
from tests.people import NORA, register
from tests.relying_party import RelyingParty
from wallet.models import HolderSession, RedirectTask, Wallet

pytestmark = pytest.mark.browser
MakeHolder = Callable[..., Holder]


def test_a_returning_holder_signs_in_and_shares(
    holder: MakeHolder, alice: Wallet, bank: RelyingParty, application: Application
) -> None:
    answer = (
        holder()
        .arrives()
        .signs_in()
        .sees("Share these details with Acme Bank?")
        .clicks("Share these")
        .comes_back()
    )

    assert bank.verify(answer) == {
        "given_name": "Alice",
        "family_name": "Archer",
        "age_equal_or_over": {"18": True},
    }
    assert application.requests == ["/callback"], "nothing of the answer reaches the application's server"


def test_a_signed_in_holder_shares_with_one_tap(
    holder: MakeHolder, alice: Wallet, bank: RelyingParty
) -> None:
    person = holder()
    person.arrives().signs_in().clicks("Share these").comes_back()

    answer = person.arrives().sees("Share these details with Acme Bank?").clicks("Share these").comes_back()

    assert bank.verify(answer)["given_name"] == "Alice"


SHARES = {
    "adult": {"18": True},
    "under-18": {"18": False},
    "turns-18-tomorrow": {"18": False},
}


@pytest.mark.parametrize("outcome", SHARES)
def test_a_new_holder_is_verified_and_shares(holder: MakeHolder, bank: RelyingParty, outcome: str) -> None:
    answer = (
        holder(NORA)
        .arrives()
        .signs_in()
        .is_verified_as(outcome)
        .sees("Share these details with Acme Bank?")
        .clicks("Share these")
        .comes_back()
    )

    assert bank.verify(answer)["age_equal_or_over"] == SHARES[outcome]


@pytest.mark.parametrize("outcome", ["non-latin", "one-word", "long-name"])
def test_unusual_names_are_shown_and_shared_whole(
    holder: MakeHolder, bank: RelyingParty, outcome: str
) -> None:
    person = holder(NORA).arrives().signs_in().is_verified_as(outcome).sees("Share these")
    shown = person.page.locator("dl.claims").inner_text()

    claims = bank.verify(person.clicks("Share these").comes_back())

    for name in ("given_name", "family_name"):
        if claims[name]:
            assert claims[name] in shown
    width = person.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    assert width <= 0


def test_signing_out_during_the_identity_check_leads_back(holder: MakeHolder) -> None:
    person = holder(NORA).arrives().signs_in().sees("Confirm your identity").clicks("Sign out")

    person.sees("You are signed out")
    look(person.page, "signed-out")
    answer = person.clicks("Return to Acme Bank").comes_back()

    assert (answer.error, answer.state) == ("access_denied", person.bank.sent["state"])


def test_who_signed_out_during_the_identity_check_can_sign_in_again_and_go_on(
    holder: MakeHolder, bank: RelyingParty
) -> None:
    person = holder(NORA).arrives().signs_in().sees("Confirm your identity").clicks("Sign out")

    person.sees("You are signed out").clicks("Sign in again and go on")
    RedirectTask.objects.update(code_sent_at=None)  # as if a minute had passed
    person.signs_in().is_verified_as("adult")

    assert bank.verify(person.sees("Share these").clicks("Share these").comes_back())


@pytest.mark.parametrize("without", ["JavaScript", "an open request"])
def test_signing_out_leads_back_even(browser: Any, bank: RelyingParty, without: str) -> None:
    context = browser.new_context(java_script_enabled=without != "JavaScript")
    person = Holder(context.new_page(), bank, NORA)
    try:
        person.arrives().signs_in().sees("Confirm your identity")
        if without == "an open request":
            past = timezone.now() - timedelta(minutes=1)
            Interaction.objects.update(expires_at=past)
            RedirectTask.objects.update(expires_at=past)
        person.clicks("Sign out").sees("You are signed out").clicks("Return to Acme Bank")
        assert person.comes_back().error == "access_denied"
        assert not HolderSession.objects.exists()
    finally:
        context.close()


def test_signing_out_after_the_answer_leads_back(
    holder: MakeHolder, alice: Wallet, bank: RelyingParty
) -> None:
    person = holder().is_signed_in().arrives().sees("Share these")
    question = person.page.url
    person.clicks("Share these").comes_back()
    person.page.goto(question)

    person.sees("You have already answered")
    look(person.page, "answered")
    person.clicks("Sign out").sees("You have already answered")

    assert not HolderSession.objects.exists()
    person.clicks("Go back to Acme Bank").sees("You are back at the application")


@pytest.mark.parametrize("step", ["before signing in", "at the code", "at verification"])
def test_leaving_on_the_way_goes_back(holder: MakeHolder, step: str) -> None:
    person = holder(NORA).arrives()
    if step == "at the code":
        person.clicks("Send me a code").sees("Enter the code")
    elif step == "at verification":
        person.signs_in().sees("Confirm your identity")

    assert person.clicks("Cancel and return to Acme Bank").comes_back().error == "access_denied"


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ("Share these", "Don’t share", "You said yes to Acme Bank."),
        ("Share these", "Share these", "You said yes to Acme Bank."),
        ("Don’t share", "Share these", "You said no to Acme Bank, and nothing was shared."),
    ],
)
def test_two_tabs_decide_once_and_the_second_says_what_was_decided(
    holder: MakeHolder, alice: Wallet, bank: RelyingParty, first: str, second: str, words: str
) -> None:
    person = holder().is_signed_in().arrives().sees("Share these")
    other = Holder(person.page.context.new_page(), bank)
    other.page.goto(person.page.url)
    other.sees("Share these")

    answer = person.clicks(first).comes_back()
    expect(other.page.get_by_role("button", name=second)).to_be_enabled()
    other.clicks(second).sees("You have already answered")

    assert bool(answer.error) == (first == "Don’t share")
    expect(other.page.locator("main")).to_contain_text(words)
    look(other.page, "second-tab")
    assert Consent.objects.get().decision == ("declined" if answer.error else "granted")
    other.clicks("Go back to Acme Bank").sees("You are back at the application")
    assert other.page.url == f"{bank.redirect_uri.removesuffix('/callback')}/"


@pytest.mark.parametrize("answer", ["Share these", "Don’t share"])
def test_an_answer_in_one_tab_leaves_the_question_in_another_open(
    holder: MakeHolder, alice: Wallet, bank: RelyingParty, answer: str
) -> None:
    person = holder().arrives().signs_in().sees("Share these")
    same_bank = RelyingParty(bank.client_id, bank.redirect_uri, bank.base_url)
    other = Holder(person.page.context.new_page(), same_bank)
    other.arrives().sees("Share these").clicks(answer).comes_back()

    assert bank.verify(person.clicks("Share these").comes_back())


def test_back_does_not_revive_the_question(holder: MakeHolder, alice: Wallet, bank: RelyingParty) -> None:
    person = holder().is_signed_in().arrives().sees("Share these")
    bank.verify(person.clicks("Share these").comes_back())

    person.page.go_back()

    expect(person.page.get_by_role("button", name="Share these")).to_have_count(0)
    assert Consent.objects.filter(decision="granted").count() == 1


def test_a_double_click_decides_once(holder: MakeHolder, alice: Wallet, bank: RelyingParty) -> None:
    person = holder().is_signed_in().arrives().sees("Share these")

    person.page.get_by_role("button", name="Share these").dblclick()

    assert bank.verify(person.comes_back())
    assert Consent.objects.count() == 1


def slowed_down(page: Any, addresses: str) -> list[str]:
    """Lets half a second pass before each request to these addresses; their methods, as they are sent."""
    sent: list[str] = []

    def slowly(route: Any) -> None:
        sent.append(route.request.method)
        time.sleep(0.5)
        route.continue_()

    page.route(addresses, slowly)
    return sent


@pytest.mark.parametrize("second", ["Enter", "the button"])
def test_who_goes_on_after_the_sixth_digit_on_a_slow_line_is_signed_in(
    holder: MakeHolder, alice: Wallet, second: str
) -> None:
    """The page sends the code by itself. A browser drops the session that the reply to that begins."""
    person = holder().arrives().clicks("Send me a code").sees("Enter the code")
    sent = slowed_down(person.page, "**/code/")
    then = {
        "Enter": "document.activeElement.form.requestSubmit()",
        "the button": "document.activeElement.form.querySelector('button').click()",
    }
    person.page.evaluate(
        f"document.addEventListener('submit', () => setTimeout(() => {{ {then[second]} }}, 150))"
    )

    enter_code(person.page)

    person.sees("Share these")
    assert sent == ["POST"]


def test_a_second_click_on_a_slow_line_does_not_lose_the_answer(
    holder: MakeHolder, alice: Wallet, bank: RelyingParty
) -> None:
    person = holder().is_signed_in().arrives().sees("Share these")
    sent = slowed_down(person.page, "**/interactions/**")
    button = person.page.get_by_role("button", name="Share these")
    button.evaluate("button => { button.click(); setTimeout(() => button.click(), 150); }")

    assert bank.verify(person.comes_back())
    assert sent == ["POST"]


def test_a_callback_that_redirects_onwards_arrives(
    holder: MakeHolder, alice: Wallet, application: Application
) -> None:
    other = Application()
    application.onwards = f"{other.origin}/signed-in"
    try:
        person = holder().is_signed_in().arrives().clicks("Share these")
        person.sees("You are back at the application")
        assert person.page.url.startswith(f"{other.origin}/signed-in")
    finally:
        other.close()


def test_a_custom_scheme_is_opened(
    holder: MakeHolder, alice: Wallet, service: Any, page: Any, signing_key: Any
) -> None:
    app = register("Acme App", "com.example.app:/callback")
    bank = RelyingParty(app.client_id, "com.example.app:/callback", service.url)
    person = Holder(page, bank).is_signed_in().arrives().sees("Share these details with Acme App?")
    redirects: list[str] = []
    page.on("response", lambda response: redirects.append(response.headers.get("location", "")))

    # No program here handles the scheme, so the test checks that the browser tries to open it.
    with page.expect_event("requestfailed", lambda request: request.url.startswith("com.example.app:")):
        person.clicks("Share these")

    assert bank.verify(bank.read(redirects[-1]))


def test_a_key_rotation_in_mid_flow_is_not_noticed(
    holder: MakeHolder, alice: Wallet, bank: RelyingParty
) -> None:
    from keys.endpoints import jwks
    from keys.models import SigningKey
    from keys.rotation import transitions

    person = holder().is_signed_in().arrives().sees("Share these")
    before = SigningKey.objects.get(state="active").id
    now = timezone.now()
    staged = transitions.stage(now=now)
    jwks.refresh()
    known = set(bank.keys())
    transitions.activate(staged.id, now=now + timedelta(hours=2))  # then every cached key set has it

    presentation = bank.examine(person.clicks("Share these").comes_back())

    assert presentation.jwt.header["kid"] == str(staged.id)
    assert {str(before), str(staged.id)} <= known


def test_without_javascript_everything_works(browser: Any, alice: Wallet, bank: RelyingParty) -> None:
    context = browser.new_context(java_script_enabled=False, viewport={"width": 320, "height": 640})
    person = Holder(context.new_page(), bank)
    try:
        answer = person.arrives().signs_in().sees("Share these").clicks("Share these").comes_back()
        assert bank.verify(answer)
    finally:
        context.close()


def test_with_the_keyboard_alone_everything_works(
    holder: MakeHolder, alice: Wallet, bank: RelyingParty
) -> None:
    person = holder().arrives()
    page = person.page

    texts = "all => all.map(one => one.innerText || one.name)"

    def press_until(name: str) -> None:
        for _ in range(30):
            page.keyboard.press("Tab")
            # Without a focus it is the body, whose text is that of the whole page.
            focused = page.locator(":focus:not(body)").evaluate_all(texts)
            if name in "".join(map(str, focused)):
                page.keyboard.press("Enter")
                return
        raise AssertionError(f"{name} cannot be reached with Tab")

    press_until("Send me a code")
    person.sees("Enter the code")
    page.wait_for_load_state()  # so that the script sends the code when its last digit is typed
    code = page.locator(".banner-code").inner_text()
    page.get_by_label("code", exact=False).first.focus()
    page.keyboard.type(code)
    person.sees("Share these")
    page.wait_for_load_state()
    press_until("Share these")

    assert bank.verify(person.comes_back())


def test_only_the_holder_learns_that_nothing_matches(
    holder: MakeHolder, alice: Wallet, bank: RelyingParty
) -> None:
    wanted = {"path": ["given_name"], "values": ["Bob"]}
    kind = {"vct_values": [f"{bank.base_url}/credential-types/identity/v1"]}
    query = {"credentials": [{"id": "basic", "format": "dc+sd-jwt", "meta": kind, "claims": [wanted]}]}

    person = holder().is_signed_in().arrives(scope=None, dcql_query=json.dumps(query))

    person.sees("Your wallet doesn’t have what was asked for")
    look(person.page, "unavailable")
    assert person.clicks("Go back to Acme Bank").comes_back().error == "access_denied"
