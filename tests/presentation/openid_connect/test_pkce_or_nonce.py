"""A nonce in the place of PKCE, for registrations that may (RFC 9700 §2.1.1)."""

from typing import Any

import pytest
from django.test import Client

from presentation.parameters import Parameters
from tests.presentation.openid_connect.shop import Shop, answer_of, challenge, share
from tests.presentation.requests.authorization_requests import PATH
from tests.relying_party import read_jwt

pytestmark = pytest.mark.usefixtures("signing_key")
WITHOUT_PKCE: dict[str, Any] = {"code_challenge": None, "code_challenge_method": None}
NONCE = "n-0S6_WzA2Mj-012"  # as short as it may be


@pytest.fixture
def either(db: None) -> Shop:
    """A shop that may send a nonce in the place of PKCE."""
    return Shop.registered("Either", pkce_or_nonce=True)


def refusal(holder: Client, shop: Shop, **changes: Any) -> tuple[str, str]:
    answer = answer_of(holder.get(PATH, shop.asks(**changes)))
    return answer["error"], answer["error_description"]


def test_a_nonce_replaces_pkce(holder: Client, either: Shop) -> None:
    code = either.code(holder, nonce=NONCE, **WITHOUT_PKCE)
    response = either.redeems(Client(), code, code_verifier=None)
    assert response.status_code == 200, response.content
    assert read_jwt(response.json()["id_token"]).payload["nonce"] == NONCE
    assert response.json()["vp_nonce"] == NONCE


def test_a_nonce_does_not_replace_pkce_for_other_registrations(holder: Client, shop: Shop) -> None:
    error, description = refusal(holder, shop, **WITHOUT_PKCE)
    assert (error, description) == ("invalid_request", "PKCE is needed: code_challenge_method must be S256")


@pytest.mark.parametrize("nonce", [None, "", NONCE[:-1], NONCE[:-1] + "é", NONCE[:-1] + " "])
def test_neither_pkce_nor_a_nonce_is_refused_naming_both(
    holder: Client, either: Shop, nonce: str | None
) -> None:
    error, description = refusal(holder, either, nonce=nonce, **WITHOUT_PKCE)
    assert error == "invalid_request"
    assert "code_challenge" in description
    assert "a nonce of at least 16" in description


@pytest.mark.parametrize(
    "half",
    [
        {"code_challenge": None},
        {"code_challenge_method": None},
        {"code_challenge_method": "plain"},
        {"code_challenge": "x" * 42},
    ],
)
def test_pkce_that_was_begun_must_be_whole(holder: Client, either: Shop, half: dict[str, Any]) -> None:
    error, description = refusal(holder, either, **half)
    assert error == "invalid_request"
    assert "PKCE is needed" in description


@pytest.mark.parametrize("verifier", ["x" * 43, "x"])
def test_a_verifier_without_a_challenge_is_refused(holder: Client, either: Shop, verifier: str) -> None:
    """Somebody took the challenge out of the request (RFC 9700 §4.8.2). The code stays for its client."""
    code = either.code(holder, **WITHOUT_PKCE)
    response = either.redeems(Client(), code, code_verifier=verifier)
    assert (response.status_code, response.json()["error"]) == (400, "invalid_grant")
    assert either.redeems(Client(), code, code_verifier=None).status_code == 200


@pytest.mark.parametrize("verifier", [None, "x" * 43])
def test_a_challenge_that_was_sent_is_enforced(holder: Client, either: Shop, verifier: str | None) -> None:
    code = either.code(holder)
    response = either.redeems(Client(), code, code_verifier=verifier)
    assert (response.status_code, response.json()["error"]) == (400, "invalid_grant")
    assert either.redeems(Client(), code).status_code == 200


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        (WITHOUT_PKCE, "nonce"),
        ({}, "nonce"),
        ({"nonce": None}, "code_challenge"),
        ({"nonce": "1"}, "code_challenge"),
    ],
)
def test_a_value_that_is_used_again_is_named(
    holder: Client, either: Shop, changes: dict[str, Any], name: str
) -> None:
    asks = either.asks(**changes)
    holder.get(PATH, asks)
    assert "code" in answer_of(share(holder))

    again = answer_of(holder.get(PATH, asks | {"state": "another"}))
    expected = f"{name} was used before; every request needs a fresh one"
    assert (again["error"], again["error_description"]) == ("invalid_request", expected)


def test_the_nonce_of_a_request_is_that_which_its_key_binding_repeats() -> None:
    long, short, code_challenge = "n" * 16, "n" * 15, challenge("verifier")
    by_code = {"response_type": "code", "code_challenge": code_challenge}
    assert Parameters({**by_code, "nonce": long}).nonce == long
    assert Parameters({**by_code, "nonce": short}).nonce == code_challenge
    assert Parameters({"response_type": "code", "nonce": short}).nonce == short
    assert Parameters({"response_type": "vp_token", "nonce": short}).nonce == short
