"""Trials of the limits of requests, and of the endpoints that relying parties call."""

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from django.test import Client

from presentation.models import RelyingParty, ResponseURI
from presentation.requests.receiving import signed_requests
from tests.limits.trial import Begin, Trial, browser, over_api, over_http, silently
from tests.presentation.clients import access_token, basic, with_key, with_secret
from tests.presentation.clients import ask as asks_for_a_token
from tests.presentation.far_ends import answers, far_end
from tests.presentation.openid_connect.shop import Shop
from tests.presentation.requests.authorization_requests import PATH, asked
from tests.presentation.requests.pushing import send
from tests.presentation.requests.signed_requests import TYPE, signed
from tests.presentation.verifying import NONCE, VERIFY
from tests.receiver import listening

OUTCOME = "/verifiable-credentials/v1/presentation/outcome"
Party = tuple[RelyingParty, str]


def unauthenticated_requests(stage: pytest.FixtureRequest) -> Trial:
    party, numbers = stage.getfixturevalue("acme_bank"), count()

    def use(who: int) -> Any:
        return browser(who).get(PATH, asked(party, nonce=f"nonce-number-{next(numbers):010}"))

    return over_http(use, "Many requests came from your network", done=303)


def request_objects(stage: pytest.FixtureRequest) -> Trial:
    bank = with_key()
    far = stage.getfixturevalue("opened").enter_context(
        far_end(
            answers(
                signed(bank, stage.getfixturevalue("settings").BASE_URL).encode(),
                f"Content-Type: application/{TYPE}",
            )
        )
    )
    stage.getfixturevalue("monkeypatch").setattr(signed_requests, "outbound", far.outbound())
    RelyingParty.objects.update(request_uri_prefix=far.url("/requests/"))
    question = {"client_id": bank[0].client_id, "request_uri": far.url("/requests/1")}
    return over_http(lambda who: browser(who).get(PATH, question), "Please try again later.", done=303)


def reported_errors(stage: pytest.FixtureRequest) -> Trial:
    party = stage.getfixturevalue("acme_bank")
    receiver = stage.getfixturevalue("opened").enter_context(listening())
    ResponseURI.objects.create(relying_party=party, uri=receiver.uri)
    wrong = {
        "response_mode": "direct_post",
        "response_uri": receiver.uri,
        "redirect_uri": None,
        "nonce": None,
    }

    def use(who: int) -> bool:
        before = len(receiver.posted)
        browser(who).get(PATH, asked(party, **wrong))
        return len(receiver.posted) > before

    return silently(use)


def two_parties() -> list[Party]:
    return [with_secret(), with_secret("Corner Shop")]


def each_for_a_relying_party(call: Callable[[Party], Any], done: int = 200) -> Begin:
    """The second subject is another relying party."""

    def begin(stage: pytest.FixtureRequest) -> Trial:
        stage.getfixturevalue("signing_key")
        parties = two_parties()
        return over_api(lambda who: call(parties[who]), done)

    return begin


def each_for_a_client_address(call: Callable[[Client, Party], Any], done: int = 200) -> Begin:
    """The second subject is another client address of the same relying party."""

    def begin(stage: pytest.FixtureRequest) -> Trial:
        stage.getfixturevalue("signing_key")
        party = with_secret()
        return over_api(lambda who: call(browser(who), party), done)

    return begin


def gets_a_token(client: Client, party: Party) -> Any:
    return asks_for_a_token(client, **basic(party[0].client_id, party[1]))


def pushes(client: Client, party: Party) -> Any:
    return send(client, asked(party[0]), **basic(party[0].client_id, party[1]))


def bearing(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def verifies(party: Party) -> Any:
    body = {"vp_token": "x", "nonce": NONCE}
    proof = bearing(access_token(party[0]))
    return Client().post(VERIFY, body, content_type="application/json", headers=proof)


def asks_for_an_outcome(party: Party) -> Any:
    return Client().get(OUTCOME, {"nonce": NONCE}, headers=bearing(access_token(party[0])))


def uses_a_wrong_token(client: Client, _party: Party) -> Any:
    return client.post(VERIFY, {}, content_type="application/json", headers=bearing("not.a.token"))


def exchanges_of_two(stage: pytest.FixtureRequest) -> Trial:
    shops = [Shop.registered(), Shop.registered("Other Shop")]
    for shop in shops:
        shop.asks()
    return over_api(lambda who: shops[who].redeems(Client(), "no code"), done=400)


def exchanges_from_two(stage: pytest.FixtureRequest) -> Trial:
    shop = Shop.registered()
    shop.asks()
    return over_api(lambda who: shop.redeems(browser(who), "no code"), done=400)


TRIALS: dict[str, Begin] = {
    "unauthenticated-requests-per-client": unauthenticated_requests,
    "request-objects-per-client": request_objects,
    "reported-errors": reported_errors,
    "pushes-per-relying-party": each_for_a_relying_party(lambda party: pushes(Client(), party), done=201),
    "pushes-per-client": each_for_a_client_address(pushes, done=201),
    "code-exchanges-per-relying-party": exchanges_of_two,
    "code-exchanges-per-client": exchanges_from_two,
    "verifications-per-relying-party": each_for_a_relying_party(verifies),
    "outcomes-per-relying-party": each_for_a_relying_party(asks_for_an_outcome, done=404),
    "token-requests-per-relying-party": each_for_a_relying_party(lambda party: gets_a_token(Client(), party)),
    "token-requests-per-client": each_for_a_client_address(gets_a_token),
    "refused-tokens-per-client": each_for_a_client_address(uses_a_wrong_token, done=401),
}
