"""The signed-in browsers in Chromium: one signs the other out, and the page has no barriers."""

import re
from typing import Any

import pytest

from tests.people import give_session
from wallet.models import HolderSession, Wallet

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) Version/17.5 Safari/604.1"


def signed_in(context: Any, wallet: Wallet, url: str, agent: str = "Firefox/128.0 (Linux)") -> Any:
    """A page of the browser context, which is signed in to the wallet."""
    give_session(context, wallet, url, agent)
    page = context.new_page()
    page.goto(f"{url}/wallet/security/")
    return page


@pytest.fixture
def other(browser: Any) -> Any:
    context = browser.new_context()
    yield context
    context.close()


def test_one_browser_signs_the_other_out(page: Any, other: Any, alice: Wallet, live_server: Any) -> None:
    phone = signed_in(other, alice, live_server.url, PHONE)
    here = signed_in(page.context, alice, live_server.url)
    here.get_by_role("heading", name="Signed-in browsers").wait_for()
    assert here.locator(".browsers > li").count() == 2
    assert re.search(r"Firefox on Linux\s+This browser", here.locator(".browsers > li").first.inner_text())

    here.get_by_role("button", name="Sign out Safari on iPhone").click()

    here.locator(".browsers > li:only-child").wait_for()
    phone.reload()
    phone.wait_for_url("**/wallet/sign-in/")
    here.reload()
    assert here.get_by_role("heading", level=1).inner_text() == "Sign-in and security"


def test_a_form_in_a_tab_from_before_the_last_sign_in_does_what_it_says(
    page: Any, alice: Wallet, live_server: Any
) -> None:
    here = signed_in(page.context, alice, live_server.url)
    signed_in(page.context, alice, live_server.url)
    here.get_by_role("button", name="Sign out everywhere").click()
    here.wait_for_url("**/wallet/signed-out/")
    assert not HolderSession.objects.exists()
