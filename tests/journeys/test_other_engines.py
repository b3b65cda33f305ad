"""The main flow in Firefox and WebKit. All other tests of pages are in Chromium."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import reverse

from consent.models import Consent
from tests.code_page import FORM
from tests.engines import Driven, Firefox, WebKit
from tests.journeys.conftest import SHOWN_WORDS, Application
from tests.people import ALICE, NORA
from tests.presentation.payloads import FULL, ITEMIZED
from tests.relying_party import Answer, RelyingParty
from wallet.models import Passkey, Wallet

PAYMENT = {"type": ITEMIZED, "credential_ids": ["basic"], "payload": FULL[ITEMIZED]}
FIREFOX = [pytest.param(Firefox, marks=pytest.mark.firefox, id="firefox")]
WEBKIT = [pytest.param(WebKit, marks=pytest.mark.webkit, id="webkit")]
ENGINES = FIREFOX + WEBKIT


@pytest.fixture(scope="module", params=ENGINES)
def running(request: pytest.FixtureRequest) -> Iterator[Driven]:
    engine = request.param()
    yield engine
    engine.close()


@pytest.fixture
def engine(running: Driven, service: Any) -> Driven:
    """A browser that was never at the service."""
    running.begin(service.url, {})
    return running


@pytest.fixture(params=ENGINES)
def without_scripts(request: pytest.FixtureRequest) -> Iterator[Driven]:
    engine = request.param(scripts=False)
    yield engine
    engine.close()


def signs_in(engine: Driven) -> None:
    engine.click("Send me a code")
    engine.type(f"{FORM} input[name=code]", engine.text(".banner-code"))


def is_verified(engine: Driven) -> None:
    engine.sees("Confirm your identity")
    engine.click("Agree and begin")
    engine.sees("What should the check find?")
    engine.click("Submit")


def comes_back(engine: Driven, bank: RelyingParty) -> Answer:
    engine.sees(SHOWN_WORDS)
    return bank.read(engine.url)


def test_a_new_holder_approves_a_payment(
    engine: Driven, bank: RelyingParty, application: Application
) -> None:
    engine.open(bank.authorize_url(login_hint=NORA, transaction_data=[PAYMENT]))
    signs_in(engine)  # the sixth digit submits the form
    is_verified(engine)
    engine.sees("Order 17")

    engine.reload()

    engine.sees("Order 17")
    assert Consent.objects.get().decision == Consent.Decision.ASKED
    engine.click("Approve")
    answer = comes_back(engine, bank)
    assert bank.verify(answer)["age_equal_or_over"] == {"18": True}
    assert application.requests == ["/callback"], "nothing of the answer reaches the application's server"

    engine.back()

    engine.sees("You have already answered")


def test_a_holder_approves_a_payment_without_javascript(without_scripts: Driven, bank: RelyingParty) -> None:
    engine = without_scripts
    engine.open(bank.authorize_url(login_hint=NORA, transaction_data=[PAYMENT]))
    signs_in(engine)
    engine.click("Continue")
    is_verified(engine)
    engine.sees("Order 17")

    engine.click("Approve")

    assert bank.verify(comes_back(engine, bank))


def at_front_door(engine: Driven, service: Any) -> None:
    engine.open(service.url + reverse("wallet_front_door"))
    engine.type("input[name=email]", ALICE)


def signs_out(engine: Driven) -> None:
    engine.click("Sign out")
    engine.sees("You are signed out")


def test_going_back_after_signing_out_shows_nothing_of_the_wallet(
    engine: Driven, alice: Wallet, service: Any
) -> None:
    at_front_door(engine, service)
    signs_in(engine)
    engine.sees("Archer")
    signs_out(engine)

    engine.back()

    engine.sees("Your e-mail address")
    assert "Archer" not in engine.text("body")


@pytest.mark.parametrize("running", FIREFOX, indirect=True)
def test_a_passkey_is_added_and_signs_in(
    engine: Firefox, alice: Wallet, service: Any, bank: RelyingParty
) -> None:
    with engine.authenticator():
        at_front_door(engine, service)
        signs_in(engine)
        engine.sees("Your wallet")
        engine.open(service.url + reverse("wallet_passkey_add"))
        engine.click("Add a passkey")
        engine.sees("Your passkey was added.")
        signs_out(engine)

        engine.open(bank.authorize_url(login_hint=ALICE))
        engine.click("Sign in with a passkey")

        engine.click("Share these")
        assert bank.verify(comes_back(engine, bank))["given_name"] == "Alice"
    assert Passkey.objects.get().last_used_at is not None


@pytest.mark.parametrize("running", WEBKIT, indirect=True)
def test_a_browser_without_passkeys_is_told_so(engine: WebKit, alice: Wallet, service: Any) -> None:
    at_front_door(engine, service)
    signs_in(engine)
    engine.sees("Your wallet")

    engine.open(service.url + reverse("wallet_passkey_add"))

    engine.sees("To add a passkey, use an up-to-date browser")
    assert engine.run("return document.querySelector('[data-passkey]').hidden")
