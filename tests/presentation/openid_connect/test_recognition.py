"""Nobody is recognised by the time of the sign-in, or by what a request gets before a click."""

import json
import threading
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from consent.models import Consent
from infra.browser import digest
from presentation.models import Interaction, PushedRequest
from presentation.requests import interactions, sign_in_time
from presentation.requests.interactions import path_of
from presentation.requests.sign_in_time import CODE_LIVES
from tests.forgery import new_key, public_jwk, sign_jwt
from tests.people import ALICE, BOB
from tests.presentation.clients import basic
from tests.presentation.openid_connect.shop import Shop, answer_of, share
from tests.presentation.requests.authorization_requests import PATH, asked
from tests.presentation.requests.pushing import send
from tests.relying_party import read_jwt
from wallet.models import HolderSession, RedirectTask, Wallet
from wallet.sign_in import known_browsers, sessions

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("signing_key")]
MINUTES_AGO = timedelta(minutes=10)
BROWSER = "b" * 43
ESSENTIAL = {"id_token": {"auth_time": {"essential": True}}}


# --- prompt=none ------------------------------------------------------------------------------------------


def signed_in(sign_in: Any, alice: Wallet, *, ago: timedelta = timedelta(0)) -> Client:
    client = Client()
    sign_in(alice, browser=client, ago=ago)
    return client


def known(alice: Wallet) -> Client:
    """A browser that signed in with the address of Alice before, and chose a language."""
    client = Client()
    client.cookies[settings.BROWSER_COOKIE_NAME] = BROWSER
    client.cookies[settings.LANGUAGE_COOKIE_NAME] = "es"
    request = type("Request", (), {"COOKIES": {settings.BROWSER_COOKIE_NAME: BROWSER}})()
    known_browsers.remember(str(digest(request)), alice.email, now=timezone.now())
    return client


@pytest.fixture
def browsers(alice: Wallet, sign_in: Any) -> dict[str, Client]:
    made_up = Client()
    made_up.cookies[settings.HOLDER_COOKIE_NAME] = "x" * 43
    nobody = Wallet.objects.create(email="nobody@example.org", created_at=timezone.now())
    return {
        "a stranger": Client(),
        "with a cookie that was made up": made_up,
        "known": known(alice),
        "signed in": signed_in(sign_in, alice),
        "signed in some time ago": signed_in(sign_in, alice, ago=timedelta(minutes=20)),
        "signed in without an identity": signed_in(sign_in, nobody),
    }


def plain(shop: Shop, client: Client, asks: dict[str, str]) -> Any:
    return client.get(PATH, asks)


def signed(shop: Shop, client: Client, asks: dict[str, str]) -> Any:
    key = new_key()
    shop.party.jwks = {"keys": [{"kid": "one", **public_jwk(key)}]}
    shop.party.save()
    payload = {**asks, "aud": settings.BASE_URL, "exp": int(timezone.now().timestamp()) + 60}
    header = {"alg": "ES256", "typ": "oauth-authz-req+jwt", "kid": "one"}
    request = sign_jwt(header, payload, key)
    return client.get(PATH, {"client_id": shop.party.client_id, "request": request})


def everything(response: Any) -> Any:
    headers = {name: value for name, value in response.headers.items() if name != "X-Request-ID"}
    return response.status_code, headers, response.content, response.cookies.output()


@pytest.mark.parametrize("carrier", [plain, signed])
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"max_age": "0"},
        {"max_age": "600"},
        {"max_age": "100000"},
        {"login_hint": ALICE},
        {"login_hint": BOB},
        {"login_hint": "customer 4711", "id_token_hint": "x.y.z"},
        {"claims": json.dumps(ESSENTIAL), "ui_locales": "es"},
    ],
)
def test_prompt_none_gets_the_same_answer_whoever_uses_the_browser(
    shop: Shop, browsers: dict[str, Client], carrier: Any, more: dict[str, str]
) -> None:
    before = list(HolderSession.objects.order_by("digest").values())
    asks = shop.asks(prompt="none", **more)
    answers = {who: everything(carrier(shop, browser, asks)) for who, browser in browsers.items()}

    assert len({repr(answer) for answer in answers.values()}) == 1, answers
    answer = answer_of(carrier(shop, browsers["a stranger"], asks))
    assert (answer["error"], answer["state"]) == ("interaction_required", "af0ifjsldkj")
    rows: list[Any] = [Interaction, RedirectTask, Consent]
    assert not any(model.objects.exists() for model in rows)
    assert list(HolderSession.objects.order_by("digest").values()) == before


def test_prompt_none_is_refused_when_it_is_pushed(shop: Shop) -> None:
    header = basic(shop.party.client_id, shop.secret)
    response = send(Client(), shop.asks(prompt="none"), **header)
    assert (response.status_code, response.json()["error"]) == (400, "interaction_required")
    assert not PushedRequest.objects.exists()


@pytest.mark.usefixtures("windows_just_begun")
def test_prompt_none_gets_the_same_answer_after_many_requests_of_strangers(
    shop: Shop, browsers: dict[str, Client]
) -> None:
    for _ in range(interactions.UNAUTHENTICATED.most):
        interactions.UNAUTHENTICATED.take("127.0.0.1", now=timezone.now())
    asks = shop.asks(prompt="none", login_hint=ALICE)
    assert len({repr(everything(browser.get(PATH, asks))) for browser in browsers.values()}) == 1


def test_a_session_does_not_live_longer_by_requests_that_nobody_sees(
    shop: Shop, alice: Wallet, sign_in: Any
) -> None:
    browser = signed_in(sign_in, alice, ago=timedelta(minutes=20))
    HolderSession.objects.update(last_seen_at=timezone.now() - timedelta(minutes=20))
    seen = HolderSession.objects.get().last_seen_at
    browser.get(PATH, shop.asks(prompt="none"))
    assert HolderSession.objects.get().last_seen_at == seen
    browser.get(PATH, shop.asks())
    assert HolderSession.objects.get().last_seen_at > seen


# --- Limits -----------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("windows_just_begun")
def test_a_limit_of_strangers_is_told_to_the_relying_party_only_after_a_click(
    shop: Shop, browsers: dict[str, Client]
) -> None:
    """Otherwise a redirect there and back would tell whether somebody was here before."""
    for _ in range(interactions.UNAUTHENTICATED.most):
        interactions.UNAUTHENTICATED.take("127.0.0.1", now=timezone.now())
    for who, browser in browsers.items():
        response = browser.get(PATH, shop.asks(login_hint=ALICE))
        assert not response.headers.get("Location", "").startswith("https://shop.example/"), who
    page = Client().get(PATH, shop.asks(login_hint=ALICE))
    assert (page.status_code, page.headers["Cache-Control"]) == (429, "no-store")
    assert 0 < int(page.headers["Retry-After"]) <= 900
    assert "https://shop.example/callback?error=temporarily_unavailable" in page.content.decode()


@pytest.mark.usefixtures("windows_just_begun")
def test_a_limit_of_strangers_is_not_posted_either(client: Client, acme_bank: Any, settings: Any) -> None:
    acme_bank.response_uris.create(uri="https://bank.example/answers")
    for _ in range(interactions.UNAUTHENTICATED.most):
        interactions.UNAUTHENTICATED.take("127.0.0.1", now=timezone.now())
    where = {"response_mode": "direct_post", "response_uri": "https://bank.example/answers"}
    response = client.get(PATH, asked(acme_bank, redirect_uri=None, **where))
    assert response.status_code == 429
    assert 'href="https://bank.example/"' in response.content.decode()


# --- auth_time --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "asks",
    [
        {},
        {"prompt": "consent"},
        {"claims": {"id_token": {"auth_time": None}}},
        {"claims": {"id_token": {"auth_time": {}}}},
        {"claims": {"id_token": {"auth_time": {"essential": False}}}},
        {"claims": {"id_token": {"auth_time": {"essential": "true"}}}},
        {"claims": {"userinfo": {"auth_time": {"essential": True}}}},
    ],
)
def test_the_time_is_told_only_to_who_must_have_it(holder: Client, shop: Shop, asks: dict[str, Any]) -> None:
    assert "auth_time" not in shop.id_token(holder, **asks)


@pytest.mark.parametrize("asks", [{"max_age": "10000"}, {"claims": ESSENTIAL}])
def test_the_time_of_a_session_is_told_to_the_hour(
    client: Client, shop: Shop, alice: Wallet, sign_in: Any, asks: dict[str, Any]
) -> None:
    sign_in(alice, ago=MINUTES_AGO)
    hour = HolderSession.objects.get().signed_in_at.replace(minute=0, second=0, microsecond=0)
    for _ in range(2):  # as often as one likes
        assert shop.id_token(client, **asks)["auth_time"] == int(hour.timestamp())
    assert HolderSession.objects.get().time_told_for is None


@pytest.mark.parametrize("asks", [{"max_age": "30"}, {"prompt": "login", "claims": ESSENTIAL}])
def test_a_time_to_the_second_belongs_to_one_request(
    client: Client, shop: Shop, alice: Wallet, sign_in: Any, asks: dict[str, Any]
) -> None:
    other = Shop.registered("Other Shop")
    for asking in (shop, other):  # both questions are open before the holder signs in
        assert client.get(PATH, asking.asks(**asks)).headers["Location"].startswith("/wallet/errands/")
    first, second = Interaction.objects.order_by("created_at")
    sign_in(alice)
    signed_in_at = HolderSession.objects.get().signed_in_at
    assert client.get(path_of(second)).headers["Location"].startswith("/consent/")
    code = answer_of(client.post(path_of(second), {"decision": "share"}))["code"]
    token = read_jwt(other.redeems(Client(), code).json()["id_token"]).payload
    assert token["auth_time"] == int(signed_in_at.timestamp())

    again = client.get(path_of(first)).headers["Location"]
    assert again.startswith("/wallet/errands/")
    assert client.get(again).status_code == 200  # and not straight back
    sign_in(alice)
    client.get(path_of(first))
    assert "code" in answer_of(client.post(path_of(first), {"decision": "share"}))


def test_who_reads_for_too_long_confirms_again_and_is_not_asked_again(
    client: Client, shop: Shop, alice: Wallet, sign_in: Any
) -> None:
    client.get(PATH, shop.asks(max_age="300"))
    sign_in(alice)
    client.get(path_of(Interaction.objects.get()))
    back = timedelta(minutes=6)
    past: list[tuple[Any, str]] = [(Interaction, "created_at"), (HolderSession, "signed_in_at")]
    for model, name in [*past, (Consent, "fresh_since")]:
        model.objects.update(**{name: getattr(model.objects.get(), name) - back})
    response = share(client)
    assert response.headers["Location"].startswith("/wallet/errands/")
    assert client.get(response.headers["Location"]).status_code == 200
    sign_in(alice)
    signed_in_at = HolderSession.objects.latest("signed_in_at").signed_in_at
    response = client.get(path_of(Interaction.objects.get()))
    assert "code" in response.headers["Location"], response.headers["Location"]
    code = answer_of(response)["code"]
    told = read_jwt(shop.redeems(Client(), code).json()["id_token"]).payload["auth_time"]
    hour = sign_in_time.hour_of(signed_in_at)
    assert told in (int(signed_in_at.timestamp()), int(hour.timestamp()))
    assert timezone.now().timestamp() - told <= 300


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_of_requests_at_the_same_time_one_is_told_the_time(alice: Wallet, sign_in: Any) -> None:
    sign_in(alice)
    session, won = HolderSession.objects.get(), []

    def tell() -> None:
        try:
            won.append(sessions.tell_time(session, uuid4()))
        finally:
            connection.close()

    threads = [threading.Thread(target=tell) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == [False, False, False, True]


NOW = datetime(2026, 11, 28, 12, 30, tzinfo=UTC)
moments = st.integers(0, 100_000).map(lambda seconds: timedelta(seconds=seconds / 7))


@given(now=moments, began=moments, ago=moments, longest=st.integers(0, 20_000))
def test_a_sign_in_that_will_do_satisfies_the_client_when_the_code_is_exchanged(
    now: timedelta, began: timedelta, ago: timedelta, longest: int
) -> None:
    at, age = NOW + now, timedelta(seconds=longest)
    start, signed_in_at, ends = at - min(began, timedelta(hours=2)), at - ago, at + CODE_LIVES
    earliest = sign_in_time.earliest(age, began=start, now=at, collected_by=ends)
    hour = sign_in_time.hour_will_do(signed_in_at, age, collected_by=ends)

    if hour:
        assert signed_in_at >= earliest
    if signed_in_at >= earliest:
        assert hour or signed_in_at >= start
        told = sign_in_time.auth_time(signed_in_at, age, collected_by=ends)
        assert told == (sign_in_time.hour_of(signed_in_at) if hour else signed_in_at.replace(microsecond=0))
        if hour or longest >= 120:
            assert ends - told <= age
    assert sign_in_time.earliest(age, began=start, now=at, collected_by=ends) <= at
