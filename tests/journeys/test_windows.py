"""A relying party opens the request in a window of its page, as `signinPopup` of oidc-client-ts does."""

from collections.abc import Callable
from typing import Any

import pytest
from django.urls import reverse

from tests.journeys.conftest import SHOWN_WORDS, Application, Holder
from tests.people import ALICE, NORA
from tests.relying_party import RelyingParty
from wallet.models import IdentityVerification, Wallet

pytestmark = pytest.mark.browser
MakeHolder = Callable[..., Holder]
TELLS_ITS_OPENER = "<script>if (opener) opener.postMessage(location.href, location.origin)</script>"


def opens(page: Any, origin: str, address: str) -> Any:
    """The window that a page of this origin opens, which listens for its answer."""
    page.goto(f"{origin}/opener")
    page.evaluate(
        "addEventListener('message', (event) => { if (event.origin === origin) told = event.data })"
    )
    with page.expect_popup() as opened:
        page.evaluate("(address) => { handle = open(address, '', 'popup,width=500,height=700') }", address)
    opened.value.wait_for_load_state()
    return opened.value


@pytest.mark.parametrize("email", [ALICE, NORA])
def test_who_opened_the_request_in_a_window_gets_the_answer_there(
    page: Any, holder: MakeHolder, alice: Wallet, bank: RelyingParty, application: Application, email: str
) -> None:
    """Of a holder, and of a person who is new and has their identity checked."""
    application.script = TELLS_ITS_OPENER
    window = opens(page, application.origin, bank.authorize_url(login_hint=email))
    person = holder(email, window).signs_in()
    if email == NORA:
        person.is_verified_as("adult")

    person.sees("Share these details with Acme Bank?").clicks("Share these").sees(SHOWN_WORDS)

    page.wait_for_function("typeof told === 'string'")
    assert bank.verify(bank.read(page.evaluate("told")))["age_equal_or_over"] == {"18": True}
    with window.expect_event("close"):
        page.evaluate("handle.close()")


@pytest.mark.parametrize("choice", ["Don’t share", "Español", "Sign out"])
def test_whatever_a_person_does_on_the_way_the_window_is_kept(
    page: Any, holder: MakeHolder, alice: Wallet, bank: RelyingParty, application: Application, choice: str
) -> None:
    window = opens(page, application.origin, bank.authorize_url(login_hint=ALICE))
    person = holder(ALICE, window).signs_in().sees("Share these details with Acme Bank?")

    person.clicks(choice)
    window.wait_for_load_state()

    assert page.evaluate("handle.closed") is False


# --- What an opener sees ----------------------------------------------------------------------------------

ADDRESSES = {
    "a request": "",
    "a request for somebody": "login_hint",
    "a request without a page": "prompt",
    **{
        name: reverse(name)
        for name in (
            "home",
            "wallet_home",
            "wallet_front_door",
            "wallet_recovery",
            "consent_history",
            "what_is_kept",
        )
    },
    "a return from the identity provider": reverse("wallet_identity_returned", args=["simulated"]),
    "another return": reverse("wallet_identity_returned", args=["nobody"]),
}


def seen(page: Any, origin: str, address: str) -> dict[str, Any]:
    """What the opener of a window can find out about it: by its handle, and by its history."""
    window = opens(page, origin, address)
    facts: dict[str, Any] = page.evaluate("({ closed: handle.closed, frames: handle.length })")
    if not facts["closed"]:
        page.evaluate("handle.location.replace(origin + '/callback')")
        window.wait_for_url(f"{origin}/callback")
        facts["history"] = page.evaluate("handle.history.length")
    window.close()
    return facts


@pytest.mark.parametrize("kind", ADDRESSES)
def test_an_opener_sees_the_same_whether_a_person_is_signed_in_or_not(
    page: Any,
    holder: MakeHolder,
    alice: Wallet,
    bank: RelyingParty,
    application: Application,
    kind: str,
) -> None:
    changes = {"login_hint": {"login_hint": ALICE}, "prompt": {"prompt": "none"}}.get(ADDRESSES[kind], {})

    def address() -> str:
        path = ADDRESSES[kind]
        return bank.base_url + path if path.startswith("/") else bank.authorize_url(**changes)

    signed_out = seen(page, application.origin, address())
    holder(ALICE).is_signed_in()
    signed_in = seen(page, application.origin, address())

    assert signed_in == signed_out
    assert signed_out["closed"] is (ADDRESSES[kind].startswith("/") and kind != "what_is_kept")
    assert signed_out["frames"] == 0


def test_an_opener_does_not_see_whether_a_browser_has_had_its_identity_checked(
    page: Any, holder: MakeHolder, bank: RelyingParty, application: Application
) -> None:
    address = bank.base_url + ADDRESSES["a return from the identity provider"]
    before = seen(page, application.origin, address)
    holder(NORA).arrives().signs_in().is_verified_as("adult").sees("Share these")
    assert IdentityVerification.objects.filter(provider="simulated").exists()

    assert seen(page, application.origin, address) == before
