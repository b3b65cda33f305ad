"""Libraries of relying parties (npm openid-client, Authlib) get access tokens by discovery."""

import json
import subprocess
from typing import Any

import pytest
import requests
from authlib.integrations.base_client.errors import OAuthError
from authlib.integrations.requests_client import OAuth2Session
from authlib.oauth2.rfc7523 import PrivateKeyJWT
from django.utils import timezone
from joserfc.jwk import ECKey

from presentation.models import RelyingParty
from presentation.relying_parties.authentication import client_secrets
from tests.fixtures import NODE_PACKAGES
from tests.forgery import Key, new_key
from tests.presentation.clients import private_jwk, registered, with_key, with_secret
from tests.relying_party import read_jwt

VERIFY = "presentation:verify"
METHODS = ["client_secret_basic", "client_secret_post", "private_key_jwt"]


@pytest.fixture
def bank(service: Any, signing_key: Any) -> tuple[RelyingParty, str]:
    return with_secret()


@pytest.fixture
def shop(service: Any, signing_key: Any) -> tuple[RelyingParty, Key]:
    return with_key("Corner Shop")


def said(client_id: str, scope: str, token: str) -> None:
    claims = read_jwt(token).payload
    assert (claims["client_id"], claims["scope"]) == (client_id, scope)


# --- npm openid-client ------------------------------------------------------------------------------------


def by_node(issuer: str, *attempts: dict[str, Any]) -> list[dict[str, Any]]:
    task = json.dumps({"issuer": issuer, "attempts": attempts})
    done = subprocess.run(
        ["node", NODE_PACKAGES.parent / "access_tokens.mjs"],
        input=task,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    answers: list[dict[str, Any]] = json.loads(done.stdout)
    return answers


@pytest.mark.node
def test_openid_client_gets_a_token_by_every_method(
    service: Any, bank: tuple[RelyingParty, str], shop: tuple[RelyingParty, Key]
) -> None:
    party, secret = bank
    other, key = shop
    attempts = [
        {"clientId": party.client_id, "method": method, "secret": secret, "scope": VERIFY}
        for method in METHODS[:2]
    ]
    by_key = {"clientId": other.client_id, "method": "private_key_jwt", "jwk": private_jwk(key)}
    answers = by_node(service.url, *attempts, by_key | {"scope": VERIFY}, by_key)

    for answer in answers:
        assert (answer["token_type"], answer["expires_in"]) == ("bearer", 600), answer
    for attempt, answer in zip([*attempts, by_key], answers, strict=False):
        said(attempt["clientId"], VERIFY, answer["access_token"])
    assert answers[-1]["scope"] == " ".join(other.grants)


@pytest.mark.node
def test_openid_client_understands_every_error(
    service: Any, bank: tuple[RelyingParty, str], shop: tuple[RelyingParty, Key]
) -> None:
    party, secret = bank
    other, _key = shop
    poor = registered("Poor", grants=[])
    in_body = {"clientId": party.client_id, "method": "client_secret_post"}
    answers = by_node(
        service.url,
        in_body | {"secret": secret, "scope": "openid"},
        in_body | {"clientId": poor.client_id, "secret": client_secrets_of(poor)},
        in_body | {"secret": "wrong"},
        {"clientId": other.client_id, "method": "private_key_jwt", "jwk": private_jwk(new_key())},
        {"clientId": party.client_id, "method": "client_secret_basic", "secret": "wrong"},
    )
    errors = [(answer["error"], answer["status"]) for answer in answers]
    challenged = ("OAUTH_WWW_AUTHENTICATE_CHALLENGE", 401)  # the library requires the challenge of a 401
    assert errors == [
        ("invalid_scope", 400),
        ("unauthorized_client", 400),
        challenged,
        challenged,
        challenged,
    ]


def client_secrets_of(party: RelyingParty) -> str:
    return client_secrets.rotate(party, now=timezone.now()).text


# --- Authlib ----------------------------------------------------------------------------------------------


def by_authlib(issuer: str, client_id: str, secret: Any, method: Any, *, scope: str = VERIFY) -> str:
    """An access token, by discovery and the library's own request."""
    discovery = requests.get(f"{issuer}/.well-known/openid-configuration", timeout=30).json()
    assert "client_credentials" in discovery["grant_types_supported"]
    with OAuth2Session(client_id, secret, token_endpoint_auth_method=method, scope=scope) as session:
        answer = session.fetch_token(discovery["token_endpoint"], grant_type="client_credentials")
    token: str = answer["access_token"]
    return token


@pytest.mark.parametrize("method", METHODS[:2])
def test_authlib_gets_a_token_by_secret(service: Any, bank: tuple[RelyingParty, str], method: str) -> None:
    party, secret = bank
    said(party.client_id, VERIFY, by_authlib(service.url, party.client_id, secret, method))
    with pytest.raises(OAuthError, match="invalid_client"):
        by_authlib(service.url, party.client_id, "wrong", method)
    with pytest.raises(OAuthError, match="invalid_scope"):
        by_authlib(service.url, party.client_id, secret, method, scope="openid")


def test_authlib_gets_a_token_by_key(service: Any, shop: tuple[RelyingParty, Key]) -> None:
    party, key = shop
    proof = PrivateKeyJWT(service.url, alg="ES256", headers={"kid": "one"})
    jwk = ECKey.import_key(private_jwk(key))
    for _ in range(2):
        said(party.client_id, VERIFY, by_authlib(service.url, party.client_id, jwk, proof))
    stranger = ECKey.import_key(private_jwk(new_key()))
    with pytest.raises(OAuthError, match="invalid_client"):
        by_authlib(service.url, party.client_id, stranger, proof)


def test_authlib_as_it_comes_names_the_token_endpoint_and_needs_the_tick(
    service: Any, shop: tuple[RelyingParty, Key]
) -> None:
    party, key = shop
    jwk = ECKey.import_key(private_jwk(key))
    with pytest.raises(OAuthError, match="audience"):
        by_authlib(service.url, party.client_id, jwk, PrivateKeyJWT(alg="ES256"))
    RelyingParty.objects.filter(pk=party.pk).update(may_name_endpoint=True)
    said(party.client_id, VERIFY, by_authlib(service.url, party.client_id, jwk, PrivateKeyJWT(alg="ES256")))
