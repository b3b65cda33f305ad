"""Download my data: what it contains, who gets it, and that it is complete."""

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from presentation.models import RelyingParty
from tests.people import ALICE, BOB
from tests.presentation.requests.test_flow import SignIn, ask, decide
from tests.test_personal_data_at_rest import TRANSACTION_DATA
from wallet.models import Wallet

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("signing_key")]
PAGE = "/wallet/data/"
JSON = "/wallet/data/json/"
HTML = "/wallet/data/html/"


def content(response: Any) -> str:
    return b"".join(response.streaming_content).decode()


def share(client: Client, wallet: Wallet, party: RelyingParty, sign_in: SignIn, **request: Any) -> None:
    sign_in(wallet)
    client.get(decide(client, ask(client, party, login_hint=wallet.email, **request)))


def test_both_downloads_hold_what_the_wallet_knows_and_nothing_of_another(
    client: Client,
    alice: Wallet,
    bob: Wallet,
    acme_bank: RelyingParty,
    corner_shop: RelyingParty,
    sign_in: SignIn,
) -> None:
    share(client, bob, corner_shop, sign_in, redirect_uri="https://shop.example/callback")
    share(client, alice, acme_bank, sign_in, transaction_data=TRANSACTION_DATA)

    document, page = json.loads(content(client.get(JSON))), content(client.get(HTML))

    assert document["complete"] is True
    assert document["wallet"][0]["email"] == ALICE
    assert document["identity"][0]["values"]["birth_date"] == "1990-04-01"
    assert document["identity_checks"][0]["evidence"]["verified_by"] == "The tests"
    assert len(document["browsers"]) == 1
    (receipt,) = document["receipts"]
    assert receipt["requester"]["name"] == "Acme Bank"
    assert "DE02 1203 0000 0000 2020 51" in json.dumps(receipt["transactions"])
    for text in (ALICE, "Archer", "1990-04-01", "The tests", "Acme Bank", "DE02 1203 0000 0000 2020 51"):
        assert text in page
    for other in (BOB, "Baker", "1985-12-24", "Corner Shop", str(bob.id)):
        assert other not in page + json.dumps(document)


def test_the_page_needs_nothing_from_elsewhere(client: Client, alice: Wallet, sign_in: SignIn) -> None:
    sign_in(alice)

    page = content(client.get(HTML))

    assert page.startswith("<!doctype html>")
    assert page.rstrip().endswith("</html>")
    assert not re.search(r"<script|src=|url\(|@import|<link|<img|<form", page)
    assert "default-src 'none'" in page


def test_downloads_are_not_cached_and_their_names_say_nothing(
    client: Client, alice: Wallet, sign_in: SignIn
) -> None:
    sign_in(alice)

    for address, media_type in ((JSON, "application/json"), (HTML, "text/html; charset=utf-8")):
        headers = client.get(address).headers
        assert "no-store" in headers["Cache-Control"]
        assert headers["Content-Type"] == media_type
        assert re.fullmatch(
            r'attachment; filename="my-data-\d{4}-\d\d-\d\d\.\w{4}"', headers["Content-Disposition"]
        )


@pytest.mark.parametrize("address", [PAGE, JSON, HTML])
def test_downloads_need_a_fresh_factor(client: Client, alice: Wallet, sign_in: SignIn, address: str) -> None:
    assert client.get(address).headers["Location"] == "/wallet/sign-in/"
    sign_in(alice, ago=timedelta(minutes=16))

    first, second = (client.get(address).headers["Location"] for _ in range(2))

    assert re.fullmatch(r"/wallet/errands/[0-9a-f-]+/sign-in/", first)
    assert first == second


def test_downloads_are_limited_by_the_hour(client: Client, alice: Wallet, sign_in: SignIn) -> None:
    sign_in(alice)
    for _ in range(10):
        assert client.get(JSON).status_code == 200

    refused = client.get(HTML)

    assert refused.status_code == 429
    assert int(refused.headers["Retry-After"]) <= 3600
    assert "You can do it again at" in refused.content.decode()
    assert client.head(JSON).status_code == 200
    assert client.get(PAGE).status_code == 200
