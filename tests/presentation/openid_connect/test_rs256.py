"""ID tokens with RS256, for registrations that ask for them (Discovery 1.0 §3, Registration 1.0 §2)."""

import json
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from django.utils import timezone
from jwcrypto.jwk import JWKSet
from jwcrypto.jwt import JWT

from keys.models import IdTokenKey
from keys.rotation import due_steps
from presentation.metadata import discovery_document
from presentation.models import AuthorizationCode
from tests.presentation.openid_connect.shop import Shop
from tests.relying_party import read_jwt

pytestmark = pytest.mark.usefixtures("signing_key")


@pytest.fixture
def rsa_shop(rsa_key: IdTokenKey) -> Shop:
    return Shop.registered("RSA shop", id_token_signed_response_alg="RS256")


def algorithms() -> Any:
    return json.loads(discovery_document())["id_token_signing_alg_values_supported"]


def test_the_id_token_verifies_with_the_key_set_and_the_presentation_stays_es256(
    holder: Client, rsa_shop: Shop, rsa_key: IdTokenKey, client: Client
) -> None:
    tokens = rsa_shop.tokens(holder)
    keys = JWKSet.from_json(client.get("/openid-connect/jwks").content.decode())
    verified = JWT(jwt=tokens["id_token"], key=keys, algs=["RS256"])
    assert json.loads(verified.header) == {"alg": "RS256", "typ": "JWT", "kid": str(rsa_key)}
    assert json.loads(verified.claims)["aud"] == rsa_shop.party.client_id
    assert read_jwt(tokens["vp_token"].split("~")[0]).header["alg"] == "ES256"


def test_others_get_es256_as_before(holder: Client, rsa_shop: Shop, shop: Shop) -> None:
    header = read_jwt(shop.tokens(holder)["id_token"]).header
    assert header["alg"] == "ES256"


@pytest.mark.django_db
def test_discovery_lists_rs256_once_there_is_a_key(signing_key: Any) -> None:
    assert algorithms() == ["ES256"]
    due_steps.rotate(now=timezone.now(), kind=IdTokenKey)
    assert algorithms() == ["ES256", "RS256"]


def test_without_a_key_nobody_can_register_for_it(db: None) -> None:
    with pytest.raises(ValidationError) as refused:
        Shop.registered("RSA shop").party.__class__(
            name="x", allowed_scopes=["openid"], id_token_signed_response_alg="RS256"
        ).full_clean()
    assert "stage_signing_key --for id-tokens" in str(
        refused.value.message_dict["id_token_signed_response_alg"]
    )


def test_the_command_refuses_another_algorithm(db: None, capsys: Any) -> None:
    options = ["--name", "x", "--redirect-uri", "https://x.example/", "--scope", "x"]
    with pytest.raises(CommandError, match="id-token-signed-response-alg"):
        call_command("register_relying_party", *options, "--id-token-signed-response-alg", "HS256")


def test_a_key_that_ended_leaves_the_code_for_later(holder: Client, rsa_shop: Shop) -> None:
    code = rsa_shop.code(holder)
    IdTokenKey.objects.update(state="withdrawn", withdrawn_at=timezone.now(), reason="a drill")
    assert rsa_shop.redeems(Client(), code).status_code == 503
    assert AuthorizationCode.objects.get().used_at is None
    due_steps.rotate(now=timezone.now(), kind=IdTokenKey)
    assert rsa_shop.redeems(Client(), code).status_code == 200
