"""The token endpoint over HTTP: who gets a token, what it contains, and every error."""

import base64
import json
import logging
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from infra.limits import Limit
from keys import issuer_key
from presentation.machine_errors import InvalidClientError
from presentation.models import ClientSecret
from presentation.relying_parties import registration
from presentation.relying_parties.authentication import access_tokens, client_secrets
from presentation.relying_parties.authentication.authentication import authenticate
from tests.forgery import new_key, public_jwk
from tests.presentation.clients import (
    FORM,
    TOKEN,
    ask,
    assertion,
    basic,
    by_assertion,
    registered,
    with_key,
    with_secret,
)
from tests.relying_party import read_jwt

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("signing_key")]
GRANTED = "presentation:verify presentation:push presentation:read"


def refused(response: Any, error: str, status: int = 400) -> str:
    """Checks the error against RFC 6749 §5.2; returns the description."""
    assert (response.status_code, response.json()["error"]) == (status, error)
    assert response.json().keys() == {"error", "error_description"}
    assert response.headers["Content-Type"].startswith("application/json")
    assert response.headers["Cache-Control"] == "no-store"
    if status == 401:
        assert response.headers["WWW-Authenticate"] == 'Basic realm="presentation", charset="UTF-8"'
    said: str = response.json()["error_description"]
    return said


def good(response: Any) -> dict[str, Any]:
    assert response.status_code == 200, response.content
    answer: dict[str, Any] = response.json()
    return answer


def test_a_secret_in_the_header_gives_a_token_of_rfc_9068(
    client: Client, settings: Any, signing_key: Any
) -> None:
    party, secret = with_secret()
    response = ask(client, **basic(party.client_id, secret))

    answer = good(response)
    assert answer.keys() == {"access_token", "token_type", "expires_in", "scope"}
    assert (answer["token_type"], answer["expires_in"], answer["scope"]) == ("Bearer", 600, GRANTED)
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["Pragma"] == "no-cache"
    token = read_jwt(answer["access_token"])
    assert token.header == {"alg": "ES256", "typ": "at+jwt", "kid": str(signing_key.id)}
    jti, issued_at = token.payload.pop("jti"), token.payload.pop("iat")
    assert token.payload == {
        "iss": settings.BASE_URL,
        "aud": settings.BASE_URL,
        "sub": party.client_id,
        "client_id": party.client_id,
        "exp": issued_at + 600,
        "scope": GRANTED,
    }
    again = read_jwt(good(ask(client, **basic(party.client_id, secret)))["access_token"])
    assert again.payload["jti"] != jti


def test_a_secret_in_the_body_gives_a_token(client: Client) -> None:
    party, secret = with_secret()
    good(ask(client, {"client_id": party.client_id, "client_secret": secret}))


def test_an_assertion_gives_a_token_once(client: Client, settings: Any) -> None:
    party, key = with_key()
    proof = by_assertion(assertion(party.client_id, key, issuer=settings.BASE_URL))

    good(ask(client, proof))
    assert "used before" in refused(ask(client, proof), "invalid_client", 401)


def test_a_key_without_a_kid_in_the_assertion_is_found_when_there_is_one(
    client: Client, settings: Any
) -> None:
    party, key = with_key()
    text = assertion(party.client_id, key, issuer=settings.BASE_URL, header={"kid": None, "typ": None})
    good(ask(client, by_assertion(text) | {"client_id": party.client_id}))

    party.jwks["keys"].append({"kid": "two", **public_jwk(new_key())})
    party.save()
    text = assertion(party.client_id, key, issuer=settings.BASE_URL, header={"kid": None})
    refused(ask(client, by_assertion(text)), "invalid_client", 401)


def test_credentials_are_form_encoded_before_they_go_into_the_header(client: Client) -> None:
    party, secret = with_secret()
    encoded = "".join(f"%{byte:02X}" for byte in secret.encode())
    header = "basic  " + base64.b64encode(f"{party.client_id}:{encoded}".encode()).decode()
    good(ask(client, Authorization=header))


@pytest.mark.parametrize(
    ("scope", "given"),
    [
        ("", GRANTED),
        ("presentation:verify", "presentation:verify"),
        ("presentation:read presentation:verify", "presentation:read presentation:verify"),
        ("presentation:read presentation:read", "presentation:read"),
        (" presentation:read  presentation:verify ", "presentation:read presentation:verify"),
        (" ", GRANTED),
    ],
)
def test_the_requested_scope_is_granted_and_all_scopes_without_one(
    client: Client, scope: str, given: str
) -> None:
    party, secret = with_secret()
    answer = good(ask(client, {"scope": scope}, **basic(party.client_id, secret)))

    assert answer["scope"] == given
    assert read_jwt(answer["access_token"]).payload["scope"] == given


@pytest.mark.parametrize(
    "scope", ["presentation:push", "openid", "presentation:verify openid", "a  b", "presentation:verify\t"]
)
def test_a_scope_that_is_not_granted_is_refused(client: Client, scope: str) -> None:
    party, secret = with_secret(grants=["presentation:verify"])
    refused(ask(client, {"scope": scope}, **basic(party.client_id, secret)), "invalid_scope")


def test_a_client_that_was_granted_nothing_gets_nothing(client: Client) -> None:
    party, secret = with_secret(grants=[])
    refused(ask(client, **basic(party.client_id, secret)), "unauthorized_client")


@pytest.mark.parametrize("grant_type", ["refresh_token", "password", "CLIENT_CREDENTIALS"])
def test_no_other_grant_is_offered(client: Client, grant_type: str) -> None:
    party, secret = with_secret()
    form = {"grant_type": grant_type}
    refused(ask(client, form, **basic(party.client_id, secret)), "unsupported_grant_type")


# --- Client authentication that fails ---------------------------------------------------------------------


def test_without_client_authentication_there_is_no_token(client: Client) -> None:
    party, secret = with_secret()
    other, other_secret = with_secret("Corner Shop")
    header = lambda text: {"Authorization": text}  # noqa: E731
    raw = lambda text: header("Basic " + base64.b64encode(text.encode()).decode())  # noqa: E731
    wrong: list[tuple[Any, dict[str, str]]] = [
        ({}, {}),
        ({"client_id": party.client_id}, {}),
        ({}, basic(party.client_id, secret + "x")),
        ({}, basic(party.client_id, "")),
        ({}, basic(party.client_id, other_secret)),
        ({}, basic("nobody", secret)),
        ({}, basic("", "")),
        ({"client_id": party.client_id, "client_secret": "x"}, {}),
        ({"client_secret": secret}, {}),
        ({}, header("Basic !!!")),
        ({}, header("Basic")),
        ({}, header(f"Bearer {secret}")),
        ({}, raw(party.client_id + secret)),
        ({}, raw(f"{party.client_id}:%zz")),
        ({}, raw("ü:ü")),
        ({"client_assertion": "x"}, {}),
        ({"client_assertion_type": "x", "client_assertion": "x"}, {}),
        (by_assertion("x.y.z"), {}),
    ]
    for form, headers in wrong:
        refused(ask(client, form, **headers), "invalid_client", 401)
    good(ask(client, **basic(other.client_id, other_secret)))


def test_an_unknown_client_and_a_wrong_secret_look_alike(client: Client) -> None:
    party, _secret = with_secret()
    answers = {ask(client, **basic(who, "x")).content for who in (party.client_id, "nobody")}
    assert len(answers) == 1


def test_a_suspended_relying_party_gets_no_token(client: Client, settings: Any) -> None:
    party, secret = with_secret()
    other, key = with_key("Corner Shop")
    for each in (party, other):
        registration.suspend(each, "complaints")

    refused(ask(client, **basic(party.client_id, secret)), "invalid_client", 401)
    proof = assertion(other.client_id, key, issuer=settings.BASE_URL)
    refused(ask(client, by_assertion(proof)), "invalid_client", 401)


def test_an_ended_or_expired_secret_is_none(client: Client) -> None:
    party, secret = with_secret()
    ClientSecret.objects.update(expires_at=timezone.now())
    refused(ask(client, **basic(party.client_id, secret)), "invalid_client", 401)
    ClientSecret.objects.update(expires_at=timezone.now() + timedelta(days=1))
    good(ask(client, **basic(party.client_id, secret)))
    client_secrets.end(ClientSecret.objects.get(), now=timezone.now())
    refused(ask(client, **basic(party.client_id, secret)), "invalid_client", 401)


def test_a_secret_works_until_the_instant_at_which_it_expires(client: Client) -> None:
    party, secret = with_secret()
    form = {"client_id": party.client_id, "client_secret": secret}
    expires_at = ClientSecret.objects.get().expires_at

    assert authenticate(form, "", now=expires_at - timedelta(microseconds=1)) == party
    with pytest.raises(InvalidClientError):
        authenticate(form, "", now=expires_at)


def test_both_secrets_work_while_one_replaces_the_other(client: Client) -> None:
    party, old = with_secret()
    new = client_secrets.rotate(party, now=timezone.now()).text
    for secret in (old, new):
        good(ask(client, **basic(party.client_id, secret)))


# --- Invalid requests -------------------------------------------------------------------------------------


def test_two_methods_at_once_are_refused(client: Client, settings: Any) -> None:
    party, secret = with_secret()
    in_body = {"client_id": party.client_id, "client_secret": secret}
    proof = by_assertion("a.b.c")
    for form, headers in (
        (in_body, basic(party.client_id, secret)),
        (proof, basic(party.client_id, secret)),
        (in_body | proof, {}),
        ({"client_assertion_type": "x"}, basic(party.client_id, secret)),
    ):
        refused(ask(client, form, **headers), "invalid_request")


def test_another_client_id_beside_the_header_is_refused(client: Client) -> None:
    party, secret = with_secret()
    good(ask(client, {"client_id": party.client_id}, **basic(party.client_id, secret)))
    refused(ask(client, {"client_id": "other"}, **basic(party.client_id, secret)), "invalid_request")


@pytest.mark.parametrize(
    "body",
    [
        "",
        "grant_type=",
        "scope=presentation:verify",
        "grant_type=client_credentials&grant_type=client_credentials",
        "grant_type=client_credentials&scope=a&scope=b",
        "grant_type=client_credentials&x=1&x=2",
        "grant_type=client_credentials&scope=%zz",
        "grant_type=client_credentials&scope=%ff",
        "grant_type=client_credentials&scope=%00",
        "grant_type=client_credentials&scope=ü".encode(),
        "&".join(f"p{number}=1" for number in range(51)),
    ],
)
def test_a_body_that_is_no_request_is_refused(client: Client, body: Any) -> None:
    party, secret = with_secret()
    refused(ask(client, body, **basic(party.client_id, secret)), "invalid_request")


def test_parameters_in_the_address_are_refused(client: Client) -> None:
    party, secret = with_secret()
    body = f"grant_type=client_credentials&client_id={party.client_id}"
    response = client.post(f"{TOKEN}?client_secret={secret}", data=body, content_type=FORM)
    refused(response, "invalid_request")


@pytest.mark.parametrize("accept", ["text/html", "*/*", "nonsense", "application/xml;q=0.9", ""])
def test_whatever_a_library_accepts_it_gets_json(client: Client, accept: str) -> None:
    party, secret = with_secret()
    good(ask(client, Accept=accept, **basic(party.client_id, secret)))
    refused(ask(client, Accept=accept), "invalid_client", 401)


@pytest.mark.parametrize("kind", ["application/json", "multipart/form-data; boundary=x", "text/plain"])
def test_another_content_type_is_refused(client: Client, kind: str) -> None:
    refused(client.post(TOKEN, data=b"{}", content_type=kind), "invalid_request")


def test_a_content_type_may_say_its_charset(client: Client) -> None:
    party, secret = with_secret()
    body, kind = "grant_type=client_credentials", f"{FORM}; charset=UTF-8"
    good(client.post(TOKEN, data=body, content_type=kind, headers=basic(party.client_id, secret)))


def test_a_body_that_is_too_long_is_not_read(client: Client) -> None:
    refused(ask(client, "grant_type=" + "x" * 16_384), "invalid_request", 413)


@pytest.mark.parametrize("method", ["get", "put", "delete", "patch"])
def test_it_takes_posts_only(client: Client, method: str) -> None:
    response = getattr(client, method)(TOKEN)
    refused(response, "invalid_request", 405)
    assert "POST" in response.headers["Allow"]


# --- Limits and statements --------------------------------------------------------------------------------


@pytest.mark.usefixtures("windows_just_begun")
def test_an_address_that_asks_too_often_has_to_wait(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    party, secret = with_secret()
    few = Limit("few", most=2, window=timedelta(minutes=1))
    monkeypatch.setattr(access_tokens, "PER_CLIENT_ADDRESS", few)
    refused(ask(client, **basic(party.client_id, "x")), "invalid_client", 401)
    good(ask(client, **basic(party.client_id, secret)))
    response = ask(client, **basic(party.client_id, secret))
    refused(response, "temporarily_unavailable", 429)
    assert 0 < int(response.headers["Retry-After"]) <= 61


@pytest.mark.usefixtures("windows_just_begun")
def test_a_client_is_counted_only_when_it_is_that_client(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    party, secret = with_secret()
    few = Limit("few", most=1, window=timedelta(minutes=1))
    monkeypatch.setattr(access_tokens, "PER_RELYING_PARTY", few)
    for _ in range(3):
        refused(ask(client, **basic(party.client_id, "x")), "invalid_client", 401)
    good(ask(client, **basic(party.client_id, secret)))
    refused(ask(client, **basic(party.client_id, secret)), "temporarily_unavailable", 429)


def test_a_grant_is_three_statements_and_the_date_of_use_one_a_minute(
    client: Client, statements: Any
) -> None:
    party, secret = with_secret()
    with statements() as first:
        good(ask(client, **basic(party.client_id, secret)))
    with statements() as second:
        good(ask(client, **basic(party.client_id, secret)))

    assert len([text for text in first.texts if 'UPDATE "presentation_clientsecret"' in text]) == 1
    assert len(second.texts) == 3, second.texts
    used = ClientSecret.objects.get().last_used_at
    ClientSecret.objects.update(last_used_at=used - timedelta(minutes=1))
    good(ask(client, **basic(party.client_id, secret)))
    assert ClientSecret.objects.get().last_used_at >= used


@pytest.mark.parametrize(
    "what_there_is",
    [
        pytest.param({"state": "retired", "retired_at": "2026-01-01T00:00Z"}, id="no key"),
        pytest.param({"store": "pkcs11", "sealed_private_key": b""}, id="a key in a module that is away"),
        pytest.param({"sealed_private_key": b"damaged"}, id="a key that does not open"),
    ],
)
def test_while_nothing_can_be_signed_it_says_that_it_cannot(
    client: Client, signing_key: Any, what_there_is: dict[str, Any]
) -> None:
    party, secret = with_secret()
    signing_key.__class__.objects.update(**what_there_is)
    issuer_key.forget()
    refused(ask(client, **basic(party.client_id, secret)), "temporarily_unavailable", 503)


def test_neither_secret_nor_assertion_nor_token_is_logged(
    client: Client, settings: Any, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    party, secret = with_secret()
    other, key = with_key("Corner Shop")
    proof = assertion(other.client_id, key, issuer=settings.BASE_URL)
    token = good(ask(client, **basic(party.client_id, secret)))["access_token"]
    good(ask(client, by_assertion(proof)))
    ask(client, by_assertion(proof))
    ask(client, {"client_id": party.client_id, "client_secret": secret[:-1]})

    written = capsys.readouterr().err
    assert "oauth/v2/token" in written
    for private in (secret[:-1], proof[-40:], token[-40:]):
        assert private not in written


def test_a_relying_party_without_secret_or_key_cannot_authenticate(client: Client, settings: Any) -> None:
    party = registered()
    refused(ask(client, **basic(party.client_id, "")), "invalid_client", 401)
    proof = assertion(party.client_id, new_key(), issuer=settings.BASE_URL)
    refused(ask(client, by_assertion(proof)), "invalid_client", 401)
    assert "access_token" not in json.dumps(ask(client, {"client_id": party.client_id}).json())
