"""Text that a database cannot store (lone surrogates, NUL): refused everywhere, never a server error.

PostgreSQL stores neither; SQLite stores NUL. So each row is useful on both.
"""

import base64
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from django.test import Client

from presentation.models import RelyingParty, ResponseURI, UsedAssertion
from tests.forgery import new_key, public_jwk, sign_jwt
from tests.presentation.clients import (
    FORM,
    TOKEN,
    access_token,
    assertion,
    basic,
    by_assertion,
    registered,
    with_key,
    with_secret,
)
from tests.presentation.dcql.queries import path as claim_path
from tests.presentation.dcql.queries import query, with_query
from tests.presentation.payloads import FULL, ITEMIZED
from tests.presentation.requests.authorization_requests import PATH, asked, encoded
from tests.presentation.requests.deciding import SignIn, address_of_page, decide
from tests.presentation.requests.pushing import PAR, send
from tests.presentation.requests.signed_requests import signed
from tests.presentation.verifying import VERIFY
from wallet.models import Wallet

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("signing_key")]
HOSTILE = {
    "half a character": "\ud800",
    "the other half": "a\udfff",
    "NUL": "a\0b",
    "beyond ASCII": "ünïcode",
    "longer than any": "x" * 101,
}
each_hostile = pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
UNSAYABLE = {name: HOSTILE[name] for name in ("half a character", "the other half", "NUL")}
each_unsayable = pytest.mark.parametrize("text", UNSAYABLE.values(), ids=UNSAYABLE)
each_endpoint = pytest.mark.parametrize("path", [TOKEN, PAR])


def post(path: str, form: dict[str, str] | bytes, **headers: str) -> Any:
    body = form if isinstance(form, bytes) else urlencode({"grant_type": "client_credentials"} | form)
    return Client().post(path, data=body, content_type=FORM, headers=headers)


def raw(text: str) -> str:
    """Percent-encoded text with lone surrogates, which only a program sends."""
    return quote(text.encode("utf-8", "surrogatepass"), safe="")


# --- Client authentication --------------------------------------------------------------------------------


@each_endpoint
@each_hostile
def test_whom_an_assertion_is_of_is_no_text_for_the_database(path: str, text: str, settings: Any) -> None:
    proof = by_assertion(assertion(text, new_key(), issuer=settings.BASE_URL))
    response = post(path, proof)

    assert (response.status_code, response.json()["error"]) == (401, "invalid_client")


@each_endpoint
@each_unsayable
def test_a_jti_that_cannot_be_stored_is_refused(path: str, text: str, settings: Any) -> None:
    party, key = with_key()
    response = post(path, by_assertion(assertion(party.client_id, key, issuer=settings.BASE_URL, jti=text)))

    assert (response.status_code, response.json()["error"]) == (401, "invalid_client")
    assert not UsedAssertion.objects.exists()


@each_endpoint
@each_hostile
@pytest.mark.parametrize("where", ["header", "form"])
def test_neither_client_id_nor_secret_is(path: str, text: str, where: str) -> None:
    party, _secret = with_secret()
    for client_id, secret in ((text, "x"), (party.client_id, text)):
        if where == "header":
            pair = base64.b64encode(f"{raw(client_id)}:{raw(secret)}".encode()).decode()
            response = post(path, {}, Authorization=f"Basic {pair}")
        else:
            form = f"grant_type=client_credentials&client_id={raw(client_id)}&client_secret={raw(secret)}"
            response = post(path, form.encode())
        assert response.status_code in (400, 401), response.content
        assert response.json()["error"] in ("invalid_client", "invalid_request")


@each_unsayable
@pytest.mark.parametrize("part", ["kid", "sub", "jti"])
def test_neither_is_any_part_of_an_access_token(text: str, part: str) -> None:
    header = {"alg": "ES256", "typ": "at+jwt", "kid": text if part == "kid" else "one"}
    token = sign_jwt(header, {"sub": text, "jti": text}, new_key())
    for path, kind in ((VERIFY, "application/json"), (PAR, FORM)):
        response = Client().post(
            path, data=b"{}", content_type=kind, headers={"Authorization": f"Bearer {token}"}
        )
        assert (response.status_code, response.json()["error"]) == (401, "invalid_token")


# --- Requests ---------------------------------------------------------------------------------------------

PARAMETERS = ("client_id", "redirect_uri", "login_hint", "nonce", "state", "scope", "response_mode")


@each_unsayable
@pytest.mark.parametrize("name", PARAMETERS)
def test_no_pushed_parameter_is(client: Client, text: str, name: str) -> None:
    party, secret = with_secret()
    form = {key: value for key, value in asked(party).items() if key != name}
    body = f"{urlencode(form)}&{name}={raw(text)}"
    response = send(client, body, **basic(party.client_id, secret))

    assert (response.status_code, response.json()["error"]) == (400, "invalid_request")


@each_unsayable
@pytest.mark.parametrize("name", PARAMETERS)
def test_no_parameter_in_an_address_is(client: Client, text: str, name: str) -> None:
    party = registered()
    form = {key: value for key, value in asked(party).items() if key != name}
    response = client.get(f"{PATH}?{urlencode(form)}&{name}={raw(text)}")

    assert response.status_code in (303, 400)


@each_unsayable
@pytest.mark.parametrize("name", PARAMETERS)
@pytest.mark.parametrize("how", ["brought", "pushed"])
def test_no_claim_of_a_signed_request_is(
    client: Client, settings: Any, text: str, name: str, how: str
) -> None:
    party, key = with_key()
    request = signed((party, key), settings.BASE_URL, **{name: text})
    if how == "brought":
        response = client.get(PATH, {"client_id": party.client_id, "request": request})
        assert response.status_code in (303, 400)
    else:
        proof = by_assertion(assertion(party.client_id, key, issuer=settings.BASE_URL))
        response = send(client, proof | {"request": request})
        assert response.status_code == 400
        assert "error" in response.json()


def in_dcql(text: str) -> dict[str, str | None]:
    return with_query(query(claim_path("given_name", values=[text])))


def in_the_key_to_encrypt_to(text: str) -> dict[str, str | None]:
    key = {**public_jwk(new_key()), "use": "enc", "alg": "ECDH-ES", "kid": text}
    return {
        "client_metadata": json.dumps({"jwks": {"keys": [key]}}),
        "response_mode": "direct_post.jwt",
        "response_uri": "https://bank.example/response",
        "redirect_uri": None,
    }


def in_a_payment(text: str) -> dict[str, str | None]:
    value = {"type": ITEMIZED, "credential_ids": ["basic"], "payload": FULL[ITEMIZED] | {"title": text}}
    return {"transaction_data": encoded(value)}


INSIDE: dict[str, Callable[[str], dict[str, str | None]]] = {
    "a wanted value": in_dcql,
    "a key to encrypt to": in_the_key_to_encrypt_to,
    "a payment": in_a_payment,
}


@each_unsayable
@pytest.mark.parametrize("where", INSIDE)
def test_nothing_inside_a_parameter_is(
    client: Client, alice: Wallet, sign_in: SignIn, text: str, where: str
) -> None:
    """Accepted text that the page shows as code points reaches the answer unchanged."""
    party, secret = with_secret()
    ResponseURI.objects.create(relying_party=party, uri="https://bank.example/response")
    form = asked(party, **INSIDE[where](text))
    pushed = send(client, form, **basic(party.client_id, secret))
    assert pushed.status_code in (201, 400), pushed.content

    sign_in(alice)
    response = client.get(PATH, form)
    # What is to be posted is refused on a page.
    location = "" if response.status_code == 400 else address_of_page(response)
    assert (pushed.status_code == 201) == location.startswith("/"), location
    if location.startswith("/"):
        page = client.get(location)
        assert page.status_code == 200, page.content
        if b'name="decision"' in page.content and where != "a key to encrypt to":  # this one is posted
            assert client.get(decide(client, location)).status_code == 303


# --- Verification, and the holder for CI ------------------------------------------------------------------


@each_unsayable
@pytest.mark.parametrize("member", ["vp_token", "nonce", "transaction_data"])
def test_nothing_that_is_to_be_verified_is(text: str, member: str) -> None:
    body = {"vp_token": "a.b.c~d~e.f.g", "nonce": "n", "transaction_data": []}
    body[member] = [text] if member == "transaction_data" else text
    response = Client().post(
        VERIFY,
        data=json.dumps(body),
        content_type="application/json",
        headers={"Authorization": f"Bearer {access_token(registered())}"},
    )

    assert response.status_code == 400 or response.json()["valid"] is False


@each_unsayable
@pytest.mark.parametrize(
    "path",
    [
        "/relying-parties/{}/logo",
        "/sandbox/relying-parties/link/{}/",
        "/sandbox/relying-parties/{}/",
        "/status-lists/{}",
        "/{}",
    ],
)
def test_no_part_of_an_address_is(client: Client, text: str, path: str) -> None:
    assert client.get(path.format(raw(text))).status_code in (302, 303, 404, 410)


@each_unsayable
@pytest.mark.parametrize("header", ["Accept", "Accept-Language", "User-Agent", "Content-Type", "Cookie"])
def test_no_header_is(client: Client, text: str, header: str) -> None:
    as_a_server_reads_it = text.encode("utf-8", "surrogatepass").decode("latin-1")
    form = asked(registered())
    for response in (
        client.get(PATH, form, headers={header: as_a_server_reads_it}),
        client.post(TOKEN, data=b"x=1", content_type=FORM, headers={header: as_a_server_reads_it}),
    ):
        assert response.status_code < 500


def test_the_relying_party_of_these_rows_can_authenticate() -> None:
    """Shows that the rows above are refused because of their text."""
    party, secret = with_secret()
    assert post(TOKEN, {}, **basic(party.client_id, secret)).status_code == 200
    assert RelyingParty.objects.count() == 1
