"""The playground without JavaScript, in real Chromium: Go sends what was typed."""

from base64 import urlsafe_b64decode
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client
from playwright.sync_api import expect

from presentation.models import Interaction
from presentation.transaction_data.types import SESSION_DATA
from sandbox.playground.examples import example
from tests.people import NORA, register
from tests.presentation.requests.authorization_requests import BASIC, PATH

PLAYGROUND = "/playground/"


@pytest.mark.browser
def test_go_sends_what_was_typed(service: Any, signing_key: Any, browser: Any) -> None:
    callback = f"{service.url}/playground/callback/"
    register("Acme Bank", callback)
    shop = register("Corner Shop", callback, wire_format="openid4vp-1.0")
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(f"{service.url}{PLAYGROUND}")
    page.get_by_role("radio", name="Corner Shop").check()
    page.locator("#login_hint").fill(NORA)
    page.locator("#transaction").select_option(SESSION_DATA.urn)
    expect(page.locator("#go")).to_be_hidden()
    page.get_by_role("button", name="Go: send the person to the wallet").click()

    expect(page.locator(".who-asks")).to_contain_text("Corner Shop wants to confirm")
    asked = Interaction.objects.get()
    assert (asked.relying_party, asked.parameters["login_hint"]) == (shop, NORA)
    assert asked.sealed_transaction_data is not None
    page.context.close()


def test_the_server_redirects_to_the_request_of_these_choices(
    client: Client, db: None, settings: Any
) -> None:
    register("Acme Bank", f"{settings.BASE_URL}/playground/callback/")
    shop = register("Corner Shop", f"{settings.BASE_URL}/playground/callback/")
    edited = example(SESSION_DATA.urn, [BASIC]).replace("laptop-42", "laptop-43")
    chosen = {"client_id": shop.client_id, "scope": BASIC, "login_hint": NORA, "go": "1"}
    chosen |= {"transaction": SESSION_DATA.urn, "transaction_text": edited}

    answers = [client.get(PLAYGROUND, chosen) for _ in range(2)]

    first, second = (urlsplit(answer.headers["Location"]) for answer in answers)
    assert [answer.status_code for answer in answers] == [303, 303]
    assert (f"{first.scheme}://{first.netloc}", first.path) == (settings.BASE_URL, PATH)
    sent = parse_qs(first.query)
    assert (sent["client_id"], sent["login_hint"]) == ([shop.client_id], [NORA])
    assert "laptop-43" in urlsafe_b64decode(sent["transaction_data"][0] + "==").decode()
    assert sent["nonce"] != parse_qs(second.query)["nonce"]
