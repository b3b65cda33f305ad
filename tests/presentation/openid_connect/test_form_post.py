"""Answers in a form (OAuth 2.0 Form Post Response Mode), which some products ask for by default."""

import re
from contextlib import closing
from datetime import timedelta
from html import unescape
from typing import Any
from urllib.parse import parse_qsl, urlencode

import pytest
from django.test import Client
from django.utils import timezone

from presentation.models import Interaction
from presentation.requests.interactions import path_of
from tests.people import give_session, register
from tests.presentation.openid_connect.shop import CALLBACK, Shop, share
from tests.presentation.requests.authorization_requests import PATH
from tests.receiver import listening
from wallet.models import Wallet

pytestmark = pytest.mark.usefixtures("signing_key")
FORM_POST = {"response_mode": "form_post"}


def form_in(response: Any, status: int = 200, address: str = CALLBACK) -> dict[str, str]:
    """The fields of the form that the page posts to this address."""
    assert response.status_code == status, response.content
    page = response.content.decode()
    [form] = re.findall(rf'<form method="post" action="{re.escape(address)}".*?</form>', page, re.DOTALL)
    hidden = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', form)
    fields = {unescape(name): unescape(value) for name, value in hidden}
    assert len(fields) == len(hidden)
    assert "<button" in form
    return fields


def policy_of(response: Any) -> dict[str, str]:
    directives = response.headers["Content-Security-Policy"].split("; ")
    return dict(directive.split(" ", 1) for directive in directives)


def test_the_code_is_in_a_form_and_can_be_exchanged(holder: Client, shop: Shop, settings: Any) -> None:
    holder.get(PATH, shop.asks(**FORM_POST))
    response = share(holder)
    fields = form_in(response)
    assert fields.keys() == {"code", "iss", "state"}
    assert (fields["iss"], fields["state"]) == (settings.BASE_URL, "af0ifjsldkj")
    assert shop.redeems(Client(), fields["code"]).status_code == 200


def test_the_page_has_a_policy_of_its_own_and_is_not_kept(holder: Client, shop: Shop) -> None:
    holder.get(PATH, shop.asks(**FORM_POST))
    response = share(holder)
    policy = policy_of(response)
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert policy["script-src"] == "'self'"
    # Browsers apply it to the redirects after the form too, and those are the application's business.
    assert "form-action" not in policy
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["Referrer-Policy"] == "strict-origin"


def test_state_is_escaped(holder: Client, shop: Shop) -> None:
    state = "\"><script>alert('1')</script>&amp;"
    assert form_in(holder.get(PATH, shop.asks(scope="profile", state=state, **FORM_POST)))["state"] == state


@pytest.mark.parametrize(
    "mistake", [{"scope": "profile"}, {"response_type": "id_token"}, {"response_type": "vp_token"}]
)
def test_errors_are_in_a_form(holder: Client, shop: Shop, mistake: dict[str, str]) -> None:
    fields = form_in(Client().get(PATH, shop.asks(**mistake, **FORM_POST)))
    assert fields.keys() == {"error", "error_description", "iss", "state"}


def test_a_no_is_in_a_form(holder: Client, shop: Shop) -> None:
    holder.get(PATH, shop.asks(**FORM_POST))
    assert form_in(share(holder, decision="decline"))["error"] == "access_denied"


def test_the_way_back_from_an_expired_request_is_a_form(holder: Client, shop: Shop) -> None:
    holder.get(PATH, shop.asks(**FORM_POST))
    Interaction.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    page = holder.get(path_of(Interaction.objects.get()))
    assert form_in(page, 410)["error"] == "access_denied"
    assert "form-action" not in policy_of(page)


def test_leaving_an_expired_request_goes_straight_back_by_a_form(holder: Client, shop: Shop) -> None:
    holder.get(PATH, shop.asks(**FORM_POST))
    Interaction.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    response = holder.get(f"{path_of(Interaction.objects.get())}leave/")
    assert form_in(response)["error"] == "access_denied"


@pytest.mark.parametrize("wire_format", ["string", "openid4vp-1.0"])
def test_other_formats_have_no_forms(holder: Client, wire_format: str) -> None:
    party = register("Bank", CALLBACK, wire_format=wire_format, may_omit_login_hint=True)
    asks = {"client_id": party.client_id, "redirect_uri": CALLBACK, "response_type": "vp_token"}
    fields = form_in(holder.get(PATH, asks | {"nonce": "n" * 16, "scope": "openid"} | FORM_POST))
    assert fields["error"] == "invalid_request"
    assert "response_mode" in fields["error_description"]


def test_nothing_is_posted_to_an_app(holder: Client, shop: Shop) -> None:
    app = "com.shop.example:/callback"
    shop.party.redirect_uris.create(uri=app)
    location = holder.get(PATH, shop.asks(redirect_uri=app, **FORM_POST)).headers["Location"]
    answer = dict(parse_qsl(location.partition("?")[2].rstrip("#")))
    assert location.startswith(app)
    assert answer["error_description"] == "response_mode form_post needs a redirect_uri of https or http"


@pytest.mark.parametrize("scripts", [True, False])
def test_a_browser_posts_the_answer_with_and_without_scripts(
    service: Any, signing_key: Any, alice: Wallet, browser: Any, scripts: bool
) -> None:
    plain = {"java_script_enabled": scripts, "locale": "en-GB"}
    with listening() as receiver, closing(browser.new_context(**plain)) as context:
        receiver.content_type, receiver.body = "text/html", b"Welcome"
        shop = Shop.registered()
        shop.party.redirect_uris.create(uri=receiver.uri)
        give_session(context, alice, service.url)
        page = context.new_page()
        asks = shop.asks(redirect_uri=receiver.uri, **FORM_POST)
        page.goto(f"{service.url}{PATH}?{urlencode(asks)}")
        page.get_by_role("button", name="Share these").click()
        if not scripts:
            page.get_by_role("button", name="Go back to Shop").click()
        page.get_by_text("Welcome").wait_for()

    [posted] = receiver.posted
    assert dict(parse_qsl(posted.body)).keys() == {"code", "iss", "state"}
    assert posted.headers["origin"] == service.url
