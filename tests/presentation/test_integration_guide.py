"""The guide's verifier is executed as printed, against a token of a real flow over HTTP."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.test import Client

from tests.people import register
from tests.presentation.test_flow import decide
from wallet.models import Wallet

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "integrate.md"


def printed_code() -> dict[str, Any]:
    """What the guide's Python snippets define."""
    defined: dict[str, Any] = {}
    for snippet in re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL):
        exec(snippet, defined)
    return defined


def test_the_guide_asks_and_verifies(service: Any, signing_key: Any, alice: Wallet, sign_in: Any) -> None:
    code, session = printed_code(), {}
    shop = register("My Shop", "http://127.0.0.1:5000/callback")
    browser = Client()
    sign_in(alice, browser=browser)
    url = code["authorize_url"](
        service.url, shop.client_id, "http://127.0.0.1:5000/callback", alice.email, session
    )

    page = browser.get(url.removeprefix(service.url)).headers["Location"]
    home = browser.get(decide(browser, page)).headers["Location"]
    answer = dict(parse_qsl(urlsplit(home).fragment))
    claims = code["verified_claims"](
        answer["vp_token"], base_url=service.url, client_id=shop.client_id, nonce=session["nonce"]
    )

    assert answer["state"] == session["state"]
    assert claims["given_name"] == "Alice"
    assert claims["age_equal_or_over"] == {"18": True}
    assert "birth_date" not in claims


def test_the_guide_binds_a_payment(service: Any, signing_key: Any, alice: Wallet, sign_in: Any) -> None:
    code, session = printed_code(), {}
    shop = register("My Shop", "http://127.0.0.1:5000/callback")
    browser = Client()
    sign_in(alice, browser=browser)
    payload = {"currency": "EUR", "items": [{"quantity": 1, "unit_cost": 12.5, "label": "Grüner Tee"}]}
    kind = "urn:service:params:vc:transaction-data:payment-itemized:v1"
    value = code["transaction_value"]({"type": kind, "credential_ids": ["basic"], "payload": payload})
    url = code["authorize_url"](
        service.url, shop.client_id, "http://127.0.0.1:5000/callback", alice.email, session
    )

    page = browser.get(f"{url.removeprefix(service.url)}&transaction_data={value}").headers["Location"]
    home = browser.get(decide(browser, page)).headers["Location"]
    token = dict(parse_qsl(urlsplit(home).fragment))["vp_token"]

    assert code["is_bound"](token, [value])
    assert not code["is_bound"](token, [])
    assert not code["is_bound"](token, [value, value])


def test_the_guide_asks_for_one_claim(service: Any, signing_key: Any, alice: Wallet, sign_in: Any) -> None:
    code, session = printed_code(), {}
    shop = register("My Shop", "http://127.0.0.1:5000/callback", allowed_claims=["age_equal_or_over.21"])
    browser = Client()
    sign_in(alice, browser=browser)
    url = code["authorize_url"](
        service.url, shop.client_id, "http://127.0.0.1:5000/callback", alice.email, session
    )
    parameters = dict(parse_qsl(urlsplit(url).query)) | {"dcql_query": code["over_21"](service.url)}
    del parameters["scope"]

    page = browser.get(urlsplit(url).path, parameters).headers["Location"]
    home = browser.get(decide(browser, page)).headers["Location"]
    claims = code["verified_claims"](
        dict(parse_qsl(urlsplit(home).fragment))["vp_token"],
        base_url=service.url,
        client_id=shop.client_id,
        nonce=session["nonce"],
    )

    assert claims["age_equal_or_over"] == {"21": True}
    assert "given_name" not in claims


@pytest.mark.parametrize("changed", ["client_id", "nonce"])
def test_the_guides_verifier_refuses_what_was_meant_for_another_request(
    service: Any, signing_key: Any, alice: Wallet, sign_in: Any, changed: str
) -> None:
    code, session = printed_code(), {}
    shop = register("My Shop", "http://127.0.0.1:5000/callback")
    browser = Client()
    sign_in(alice, browser=browser)
    url = code["authorize_url"](
        service.url, shop.client_id, "http://127.0.0.1:5000/callback", alice.email, session
    )
    page = browser.get(url.removeprefix(service.url)).headers["Location"]
    home = browser.get(decide(browser, page)).headers["Location"]
    token = dict(parse_qsl(urlsplit(home).fragment))["vp_token"]
    expected = {"client_id": shop.client_id, "nonce": session["nonce"], changed: "another-one-altogether"}

    with pytest.raises(ValueError):
        code["verified_claims"](token, base_url=service.url, **expected)
