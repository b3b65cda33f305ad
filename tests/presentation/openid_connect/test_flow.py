"""OpenID Connect from the request to UserInfo, as clients and holders see it."""

import base64
import json
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client
from django.utils import timezone

from consent.models import Consent
from presentation.models import Interaction, RelyingParty
from presentation.requests.interactions import path_of
from presentation.requests.models import AuthorizationCode
from tests.forgery import new_key, public_jwk
from tests.people import ALICE
from tests.presentation.openid_connect.shop import (
    CALLBACK,
    Shop,
    answer_of,
    challenge,
    share,
    user_info,
)
from tests.presentation.requests.authorization_requests import BASIC, PATH, asked, fragment
from tests.relying_party import disclosed_claims, read_jwt, take_apart
from wallet.models import HolderSession, Wallet
from wallet.status_lists import upkeep

pytestmark = pytest.mark.usefixtures("signing_key")
SIGNATURE_KEY = {"kid": "one", **public_jwk(new_key())}
OF_EVERY_TOKEN = {"iss", "sub", "aud", "iat", "exp", "amr", "at_hash", "nonce"}


def refused(client: Client, shop: Shop, **changes: Any) -> dict[str, str]:
    """The error that the request gets at once."""
    answer = answer_of(client.get(PATH, shop.asks(**changes)))
    assert "code" not in answer
    return answer


# --- Tokens -----------------------------------------------------------------------------------------------


def test_the_answer_is_a_code_in_the_query_with_state_and_issuer(
    holder: Client, shop: Shop, settings: Any
) -> None:
    holder.get(PATH, shop.asks())
    response = share(holder)

    answer = answer_of(response)
    assert answer.keys() == {"code", "iss", "state"}
    assert (answer["state"], answer["iss"]) == ("af0ifjsldkj", settings.BASE_URL)
    assert len(answer["code"]) >= 43
    assert response.headers["Location"].startswith(f"{CALLBACK}?")


@pytest.mark.postgresql
def test_where_others_are_answered_at_once_it_gets_a_code(holder: Client, shop: Shop) -> None:
    upkeep.keep_open(now=timezone.now())
    holder.get(PATH, shop.asks())
    assert "code" in answer_of(share(holder))
    assert AuthorizationCode.objects.count() == 1


def test_an_address_with_a_query_keeps_it(holder: Client, shop: Shop) -> None:
    holder.get(PATH, shop.asks(redirect_uri=f"{CALLBACK}?lang=en"))
    response = share(holder)
    assert answer_of(response).keys() == {"lang", "code", "iss", "state"}


def test_the_token_response_has_an_id_token_and_the_presentation_that_it_was_made_from(
    holder: Client, shop: Shop, settings: Any
) -> None:
    nonce = "n-0S6_WzA2Mj-0123456789"
    tokens = shop.tokens(holder, nonce=nonce)

    assert tokens.keys() == {
        *("access_token", "token_type", "expires_in", "id_token", "scope", "vp_token", "vp_nonce")
    }
    assert (tokens["token_type"], tokens["expires_in"]) == ("Bearer", 300)
    assert tokens["scope"] == "openid profile"
    token = read_jwt(tokens["id_token"])
    assert token.header.keys() == {"alg", "typ", "kid"}
    assert (token.header["alg"], token.header["typ"]) == ("ES256", "JWT")
    claims = token.payload
    assert claims.keys() == OF_EVERY_TOKEN | {"name", "given_name", "family_name"}
    assert (claims["given_name"], claims["family_name"]) == ("Alice", "Archer")
    assert (claims["iss"], claims["aud"]) == (settings.BASE_URL, shop.party.client_id)
    assert claims["exp"] - claims["iat"] == 300
    assert claims["nonce"] == nonce
    issued, shown, binding, _ = take_apart(tokens["vp_token"])
    assert (binding.payload["nonce"], binding.payload["aud"]) == (tokens["vp_nonce"], shop.party.client_id)
    assert tokens["vp_nonce"] == nonce
    shared = disclosed_claims(issued, shown)
    assert {name: claims[name] for name in ("given_name", "family_name")}.items() <= shared.items()
    assert "sub" not in shared


def test_the_id_token_names_the_hash_of_the_access_token(holder: Client, shop: Shop) -> None:
    tokens = shop.tokens(holder)
    half = base64.urlsafe_b64decode(challenge(tokens["access_token"]) + "=")[:16]
    expected = base64.urlsafe_b64encode(half).rstrip(b"=").decode()
    assert read_jwt(tokens["id_token"]).payload["at_hash"] == expected


def test_the_sub_is_another_one_each_time(holder: Client, shop: Shop) -> None:
    first, second = (shop.id_token(holder)["sub"] for _ in range(2))
    assert len(first) == len(second) == 43
    assert first != second


def test_user_info_repeats_the_sub_and_the_claims_of_scopes(holder: Client, shop: Shop) -> None:
    tokens = shop.tokens(holder, scope="openid profile email")
    told = user_info(Client(), tokens["access_token"])

    assert told.status_code == 200
    assert "no-store" in told.headers["Cache-Control"]
    assert told.json() == {
        "sub": read_jwt(tokens["id_token"]).payload["sub"],
        "name": "Alice Archer",
        "given_name": "Alice",
        "family_name": "Archer",
        "email": ALICE,
        "email_verified": True,
    }


@pytest.mark.parametrize("how", ["a header", "a body"])
def test_user_info_is_answered_to_post_too(holder: Client, shop: Shop, how: str) -> None:
    token = shop.tokens(holder)["access_token"]
    content = "application/x-www-form-urlencoded"
    if how == "a header":
        headers = {"Authorization": f"Bearer {token}"}
        told = Client().post("/openid-connect/userinfo", headers=headers)
    else:
        told = Client().post("/openid-connect/userinfo", f"access_token={token}", content_type=content)
    assert told.json()["given_name"] == "Alice"


def test_a_scope_of_ours_is_asked_for_as_it_was_defined(holder: Client, shop: Shop) -> None:
    tokens = shop.tokens(holder, scope=f"openid {BASIC}")
    assert tokens["scope"] == f"openid {BASIC}"
    claims = read_jwt(tokens["id_token"]).payload
    assert claims["age_equal_or_over"] == {"18": True}


def test_whoever_may_ask_for_no_more_than_its_scopes_gets_tokens_for_standard_scopes(holder: Client) -> None:
    """Which claims it may ask for follows from scopes that the request does not name."""
    token = Shop.registered("Other Shop", allowed_claims=[]).id_token(holder, scope="openid profile")
    assert (token["given_name"], token["family_name"]) == ("Alice", "Archer")


def test_openid_alone_says_only_that_somebody_is_verified(holder: Client, shop: Shop) -> None:
    assert shop.id_token(holder, scope="openid").keys() == OF_EVERY_TOKEN


def test_unknown_scopes_and_parameters_are_ignored(holder: Client, shop: Shop) -> None:
    tokens = shop.tokens(
        holder, scope="openid offline_access profile address phone", display="page", acr_values="1 2"
    )
    assert tokens["scope"] == "openid profile"


# --- Nonces -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nonce", [None, "short"])
def test_without_a_long_nonce_the_key_binding_repeats_the_code_challenge(
    holder: Client, shop: Shop, nonce: str | None
) -> None:
    for _ in range(2):  # nobody's request is taken for another's
        tokens = shop.tokens(holder, nonce=nonce)
        assert tokens["vp_nonce"] == challenge(shop.verifiers[-1])
        assert take_apart(tokens["vp_token"])[2].payload["nonce"] == tokens["vp_nonce"]
        assert read_jwt(tokens["id_token"]).payload.get("nonce") == nonce


def test_a_nonce_that_gave_tokens_is_refused_in_another_browser(holder: Client, shop: Shop) -> None:
    nonce = "n-0S6_WzA2Mj-0123456789"
    shop.tokens(holder, nonce=nonce)
    answer = refused(Client(), shop, nonce=nonce)
    assert answer["error"] == "invalid_request"


# --- Errors -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"response_type": "device"}, "unsupported_response_type"),
        ({"response_type": None}, "invalid_request"),
        ({"response_mode": "web_message"}, "invalid_request"),
        ({"scope": "profile"}, "invalid_scope"),
        ({"scope": None}, "invalid_scope"),
        ({"code_challenge": None, "code_challenge_method": None}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"code_challenge": "x" * 42}, "invalid_request"),
        ({"code_challenge": "x" * 42 + "="}, "invalid_request"),
        ({"claims": "{"}, "invalid_request"),
        ({"claims": "[]"}, "invalid_request"),
        ({"dcql_query": "{}"}, "invalid_request"),
        ({"max_age": "soon"}, "invalid_request"),
        ({"max_age": "-1"}, "invalid_request"),
        ({"prompt": "none login"}, "invalid_request"),
    ],
)
def test_errors_are_returned_in_the_query(
    holder: Client, shop: Shop, settings: Any, changes: dict[str, Any], error: str
) -> None:
    answer = refused(holder, shop, **changes)
    assert answer["error"] == error
    assert (answer["state"], answer["iss"]) == ("af0ifjsldkj", settings.BASE_URL)
    assert not Interaction.objects.exists()


@pytest.mark.parametrize("wire_format", ["string", "openid4vp-1.0"])
def test_the_code_flow_is_only_for_those_that_are_registered_for_it(
    holder: Client, wire_format: str, settings: Any
) -> None:
    """The error stands in the query, where a client of the code flow reads it."""
    shop = Shop.registered(wire_format=wire_format, may_omit_login_hint=True)
    answer = refused(holder, shop)
    assert answer["error"] == "unsupported_response_type"
    assert "registered for OpenID Connect" in answer["error_description"]
    assert (answer["state"], answer["iss"]) == ("af0ifjsldkj", settings.BASE_URL)


@pytest.mark.parametrize(
    ("changes", "described"),
    [
        ({"response_type": "vp_token"}, "registered for OpenID Connect"),
        ({"response_type": "id_token"}, "response_type must be code"),
        ({"response_type": "code id_token"}, "response_type must be code"),
        ({"response_mode": "fragment"}, "response_mode must be"),
        ({"response_type": "vp_token", "response_mode": "query"}, "registered for OpenID Connect"),
    ],
)
def test_errors_are_returned_in_the_fragment_to_who_reads_it(
    holder: Client, shop: Shop, changes: dict[str, Any], described: str
) -> None:
    """Multiple Response Types §2.1, §5: answers with tokens are in the fragment."""
    answer = fragment(holder.get(PATH, shop.asks(**changes)).headers["Location"])
    assert answer["error"] in ("unsupported_response_type", "invalid_request")
    assert described in answer["error_description"]


def test_nobody_is_asked_for_a_client_that_could_not_exchange_its_code(holder: Client, shop: Shop) -> None:
    shop.party.client_secrets.update(ended_at=timezone.now())
    answer = refused(Client(), shop)
    assert answer["error"] == "unauthorized_client"
    assert "no client secret that works, and no public keys" in answer["error_description"]
    assert not Interaction.objects.exists()


@pytest.mark.parametrize(
    "keys", [{"jwks": {"keys": [SIGNATURE_KEY]}}, {"jwks_uri": "https://shop.example/jwks"}]
)
def test_a_client_with_keys_needs_no_secret(holder: Client, shop: Shop, keys: dict[str, Any]) -> None:
    shop.party.client_secrets.update(ended_at=timezone.now())
    RelyingParty.objects.update(**keys)
    assert holder.get(PATH, shop.asks()).status_code == 200


def test_keys_for_encryption_alone_exchange_no_code(holder: Client, shop: Shop) -> None:
    shop.party.client_secrets.update(ended_at=timezone.now())
    RelyingParty.objects.update(jwks={"keys": [SIGNATURE_KEY | {"use": "enc", "alg": "ECDH-ES"}]})
    assert refused(holder, shop)["error"] == "unauthorized_client"


def test_declining_returns_access_denied_in_the_query(holder: Client, shop: Shop, settings: Any) -> None:
    holder.get(PATH, shop.asks())
    answer = answer_of(share(holder, decision="decline"))
    assert (answer["error"], answer["iss"]) == ("access_denied", settings.BASE_URL)
    assert not AuthorizationCode.objects.exists()


def test_the_way_back_from_an_expired_request_has_the_error_in_the_query(holder: Client, shop: Shop) -> None:
    holder.get(PATH, shop.asks())
    Interaction.objects.update(expires_at=Interaction.objects.get().created_at)
    page = holder.get(path_of(Interaction.objects.get())).content.decode()
    assert f"{CALLBACK}?error=access_denied" in page


def test_the_contract_still_ignores_the_parameters_of_openid_connect(
    holder: Client, acme_bank: RelyingParty
) -> None:
    extra = "&claims=%7B&max_age=x&prompt=none&prompt=login&code_challenge=" + "x" * 500
    query = "&".join(f"{name}={value}" for name, value in asked(acme_bank).items()) + extra
    response = holder.get(f"{PATH}?{query}")

    assert response.status_code == 200
    assert Interaction.objects.get().parameters.keys() == asked(acme_bank).keys()


# --- Signing in -------------------------------------------------------------------------------------------


def test_without_a_hint_anybody_may_answer(client: Client, shop: Shop, alice: Wallet) -> None:
    location = client.get(PATH, shop.asks()).headers["Location"]
    assert location.startswith("/wallet/errands/")


def test_a_hint_that_is_an_address_names_who_may_answer(holder: Client, shop: Shop, bob: Wallet) -> None:
    assert holder.get(PATH, shop.asks(login_hint=ALICE)).status_code == 200
    other = holder.get(PATH, shop.asks(login_hint=bob.email))
    assert other.headers["Location"].startswith("/wallet/errands/")


def test_a_hint_that_is_no_address_is_ignored(holder: Client, shop: Shop) -> None:
    assert holder.get(PATH, shop.asks(login_hint="customer 4711")).status_code == 200


@pytest.mark.parametrize("prompt", ["consent", "select_account", "consent  select_account", "something", " "])
def test_other_prompts_are_what_happens_anyway(holder: Client, shop: Shop, prompt: str) -> None:
    assert holder.get(PATH, shop.asks(prompt=prompt)).status_code == 200


@pytest.mark.parametrize(
    ("asked", "ago", "again"),
    [
        ({"prompt": "login"}, 0, True),
        ({"prompt": "login consent"}, 0, True),
        ({"prompt": " login "}, 0, True),
        ({"max_age": "0"}, 1, True),
        ({"max_age": "60"}, 61, True),
        ({"max_age": "10000"}, 61, False),
    ],
)
def test_a_holder_who_signed_in_too_long_ago_signs_in_again(
    client: Client, shop: Shop, alice: Wallet, sign_in: Any, asked: Any, ago: int, again: bool
) -> None:
    sign_in(alice, ago=timedelta(seconds=ago))
    response = client.get(PATH, shop.asks(**asked))
    assert response.status_code == (303 if again else 200)
    if again:  # with a passkey too, because only a payment is confirmed with one on the consent page
        assert response.headers["Location"].startswith("/wallet/errands/")
        sign_in(alice)
        assert client.get(path_of(Interaction.objects.get())).headers["Location"].startswith("/consent/")
        assert answer_of(share(client))["code"]


def test_the_tokens_say_how_the_holder_signed_in(holder: Client, shop: Shop, alice: Wallet) -> None:
    by_code = shop.id_token(holder)
    HolderSession.objects.update(by_passkey=True)
    by_passkey = shop.id_token(holder)

    assert by_code["amr"] == ["otp"]
    assert "acr" not in by_code
    assert (by_passkey["acr"], by_passkey["amr"]) == ("phr", ["pop", "mfa"])


# --- POST -------------------------------------------------------------------------------------------------


def test_a_posted_request_leads_to_the_same_request_by_get(shop: Shop, alice: Wallet, sign_in: Any) -> None:
    browser = Client(enforce_csrf_checks=True)
    sign_in(alice, browser=browser)
    body = urlencode(shop.asks())
    response = browser.post(PATH, body, content_type="application/x-www-form-urlencoded")

    assert (response.status_code, response.headers["Location"]) == (303, f"{PATH}?{body}")
    assert not Consent.objects.exists()
    assert browser.get(response.headers["Location"]).status_code == 200


@pytest.mark.parametrize(
    "body", ["", "client_id=somebody", "client_id=x&a=b c", "client_id=x#y", "client_id=x\r\nSet-Cookie: a=b"]
)
def test_nothing_else_can_be_posted(client: Client, shop: Shop, acme_bank: RelyingParty, body: str) -> None:
    for client_id in (acme_bank.client_id, shop.party.client_id):
        posted = body.replace("=x", f"={client_id}")
        if "=x" in body or client_id == acme_bank.client_id:
            response = client.post(PATH, posted, content_type="application/x-www-form-urlencoded")
            assert (response.status_code, response.headers["Allow"]) == (405, "GET, HEAD")
    json_body = client.post(PATH, json.dumps(shop.asks()), content_type="application/json")
    assert json_body.status_code == 405
