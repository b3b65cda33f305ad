"""People prove who they are with another wallet, in Chromium: on one device and across two."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from html import unescape
from typing import Any

import pytest
from django.test import Client
from playwright.sync_api import expect

from infra.sealing import seal
from tests.day_inputs import type_day
from tests.journeys.conftest import Holder
from tests.narrow_and_wide_windows import look
from tests.people import NORA
from tests.relying_party import RelyingParty
from tests.wallet.providers.pids import OtherPersonsWallet, fetched, world
from wallet.identity.progress import check_of
from wallet.models import IdentityVerification
from wallet.providers.other_wallet.transactions import Transaction

pytestmark = pytest.mark.browser
MakeHolder = Callable[..., Holder]
HEADING = "Show your identity with another wallet"


@pytest.fixture(autouse=True)
def _with_another_wallet(settings: Any, service: Any) -> None:
    settings.IDENTITY_PROVIDERS = {"wallet": world().settings}


def begins(person: Holder) -> Holder:
    person.arrives().signs_in().sees("Confirm your identity").clicks("Agree and begin")
    return person.sees(HEADING)


def types_name(person: Holder) -> Holder:
    person.page.get_by_label("Given names").fill("Nora")
    person.page.get_by_label("Family name").fill("O’Neill")
    type_day(person.page, "Birth date", "1990-02-01")
    return person.clicks("Show a QR code").sees("Scan this code with your wallet")


def wallet_answers(link: str) -> str:
    """The other wallet shows its PID; where it leads the person."""
    answer = OtherPersonsWallet().answer(fetched(Client(), unescape(link)))
    reply = Client().post(answer.path, answer.body, content_type=answer.headers["content-type"])
    assert reply.status_code == 200
    return str(reply.json().get("redirect_uri", ""))


def by_itself(person: Holder) -> None:
    """The page asks every few seconds, and goes on."""
    heading = person.page.get_by_role("heading", level=1)
    expect(heading).to_have_text("Share these details with Acme Bank?", timeout=30_000)


def link_of(person: Holder) -> str:
    return str(person.page.get_by_role("link", name="Open your wallet").get_attribute("href"))


def code_of(person: Holder) -> str:
    """The link behind the QR code, which stands beside it."""
    return str(person.page.locator("details code").text_content())


def test_a_wallet_on_the_same_device_leads_back_and_on(holder: MakeHolder, bank: RelyingParty) -> None:
    person = begins(holder(NORA))
    look(person.page, "other-wallet")
    person.page.goto(wallet_answers(link_of(person)))
    answer = person.sees("Share these details with Acme Bank?").clicks("Share these").comes_back()
    assert bank.verify(answer)["given_name"] == "Nora Ärla"


def test_the_page_waits_for_the_wallet_once_it_was_opened(holder: MakeHolder) -> None:
    person = begins(holder(NORA))
    person.page.wait_for_load_state()
    expect(person.page.get_by_text("We are waiting for your wallet.")).to_be_hidden()
    person.clicks("Open your wallet")  # no program here knows the scheme, so the page stays
    expect(person.page.get_by_role("status")).to_have_text("We are waiting for your wallet.")


def test_a_wallet_on_another_device_is_noticed_by_the_page(holder: MakeHolder, bank: RelyingParty) -> None:
    person = types_name(begins(holder(NORA)))
    look(person.page, "other-wallet-code")
    expect(person.page.get_by_text(f"The account that is verified is {NORA}.")).to_be_visible()
    assert wallet_answers(code_of(person)) == ""
    by_itself(person)
    answer = person.sees("Share these details with Acme Bank?").clicks("Share these").comes_back()
    assert bank.verify(answer)["given_name"] == "Nora Ärla"


def test_what_is_missing_is_said_before_the_code_is_shown(holder: MakeHolder) -> None:
    person = begins(holder(NORA)).clicks("Show a QR code").sees(HEADING)
    expect(person.page.get_by_role("alert")).to_contain_text("Enter your birth date.")
    look(person.page, "other-wallet-missing")


def test_whoever_opens_the_link_in_another_browser_is_refused(holder: MakeHolder, browser: Any) -> None:
    """The attacker sends a link; the victim's wallet leads the victim to the victim's own browser."""
    attacker = begins(holder(NORA))
    led_to = wallet_answers(link_of(attacker))
    victim = browser.new_context()
    page = victim.new_page()
    page.goto(led_to)
    expect(page.get_by_role("heading", level=1)).to_have_text("This check was begun in another browser")
    look(page, "other-wallet-elsewhere")
    victim.close()
    attacker.page.reload()
    attacker.sees("Confirm your identity")
    expect(attacker.page.get_by_text("That check was finished in another browser")).to_be_visible()


@pytest.fixture
def without_scripts(browser: Any) -> Iterator[Any]:
    facts = {"java_script_enabled": False, "color_scheme": "dark", "locale": "en-GB"}
    context = browser.new_context(**facts, viewport={"width": 320, "height": 640})
    yield context.new_page()
    context.close()


def test_without_scripts_the_page_goes_on_too(without_scripts: Any, bank: RelyingParty) -> None:
    person = begins(Holder(without_scripts, bank, NORA))
    types_name(person)
    wallet_answers(code_of(person))
    by_itself(person)


def test_a_code_that_is_over_says_so(holder: MakeHolder) -> None:
    person = types_name(begins(holder(NORA)))
    wallet, attempt = code_of(person), IdentityVerification.objects.get()
    before = Transaction.kept_in(attempt.provider_reference, check_of(attempt).memory)
    assert before is not None
    attempt.sealed_memory = seal(
        json.dumps(replace(before, ends_at=before.began_at).memory()).encode(),
        context=attempt.SEALED["sealed_memory"].format(pk=attempt.pk),
    )
    attempt.save()
    person.page.reload()
    expect(person.page.get_by_text("That request is no longer valid.")).to_be_visible()
    look(person.page, "other-wallet-over")
    person.clicks("Use a wallet on this device")
    assert link_of(person) != wallet


def test_who_has_answered_on_this_device_is_told_to_go_on(holder: MakeHolder, bank: RelyingParty) -> None:
    person = begins(holder(NORA))
    led_to = wallet_answers(link_of(person))
    person.page.reload()
    expect(person.page.get_by_role("status")).to_contain_text("Your wallet has answered.")
    look(person.page, "other-wallet-answered")
    elsewhere = person.page.context.new_page()  # another tab of the same browser
    elsewhere.goto(led_to)
    by_itself(person)
