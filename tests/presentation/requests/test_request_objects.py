"""Signed requests: sent, pushed or published; each invalid one is a row; other parameters do not count.

The names with hyphens are modules of the OpenID Foundation's suite (`fapi2-security-profile-final-…`,
`oid4vp-1final-wallet-…`).
"""

import hmac
import json
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.core.exceptions import ValidationError
from django.test import Client
from django.utils import timezone
from hypothesis import HealthCheck, assume, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from joserfc import jwe
from joserfc.jwk import ECKey

from infra.limits import Limit
from infra.waiting import waiting_for
from presentation.metadata import discovery_document
from presentation.models import Interaction, PushedRequest, RelyingParty
from presentation.parameters import LIMITS
from presentation.relying_parties import registration
from presentation.relying_parties.authentication import client_secrets
from presentation.relying_parties.metadata.request_uris import is_registered, problem_with
from presentation.requests import interactions
from presentation.requests.receiving import signed_requests
from presentation.requests.receiving.request_object import LIFETIME, RequestObjectError, read
from tests.consent.shown import values_on
from tests.forgery import Key, new_key, public_jwk, sign_jwt, sign_text
from tests.people import register
from tests.presentation.clients import assertion, by_assertion, with_key
from tests.presentation.dcql.queries import query
from tests.presentation.far_ends import FarEnd, answers, far_end, says
from tests.presentation.requests.authorization_requests import PATH, asked, encoded, fragment, session_data
from tests.presentation.requests.deciding import SignIn, address_of_page, decide
from tests.presentation.requests.pushing import go, send
from tests.presentation.requests.signed_requests import TYPE, Bank, bring, signed
from tests.receiver import listening
from tests.relying_party import decode, encode, take_apart
from wallet.models import Wallet

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("signing_key")]
Make = Callable[[RelyingParty, Key, str], str]


@pytest.fixture
def bank() -> Bank:
    """Acme Bank with a key of kid `one`."""
    return with_key()


# --- Invalid objects --------------------------------------------------------------------------------------


def claims(**changes: Any) -> Make:
    return lambda party, key, issuer: signed((party, key), issuer, **changes)


def header(**changes: Any) -> Make:
    return lambda party, key, issuer: signed((party, key), issuer, header=changes)


def from_now(**seconds: int | None) -> Make:
    def make(party: RelyingParty, key: Key, issuer: str) -> str:
        now = int(time.time())
        times = {name: None if value is None else now + value for name, value in seconds.items()}
        return signed((party, key), issuer, **times)

    return make


def by_another_key(party: RelyingParty, _key: Key, issuer: str) -> str:
    return signed((party, new_key()), issuer)


def with_its_own_key(party: RelyingParty, _key: Key, issuer: str) -> str:
    stranger = new_key()
    return signed((party, stranger), issuer, header={"jwk": public_jwk(stranger)})


def changed_afterwards(party: RelyingParty, key: Key, issuer: str) -> str:
    head, _, signature = signed((party, key), issuer).split(".")
    payload = signed((party, key), issuer, state="another").split(".")[1]
    return f"{head}.{payload}.{signature}"


def unsigned(party: RelyingParty, key: Key, issuer: str) -> str:
    return signed((party, key), issuer, header={"alg": "none"}).rpartition(".")[0] + "."


def twice(name: str) -> Make:
    """A valid signature over a claim that occurs twice: readers differ on which one counts."""

    def make(party: RelyingParty, key: Key, issuer: str) -> str:
        head, payload, _ = signed((party, key), issuer).split(".")
        said = decode(payload).decode()
        again = encode(f'{said[:-1]}, "{name}": {json.dumps(json.loads(said)[name])}}}'.encode())
        return sign_text(f"{head}.{again}", key)

    return make


def by_secret(secret: Callable[[RelyingParty, Key], bytes]) -> Make:
    """An HMAC with a public value as its secret (RFC 8725 §2.1)."""

    def make(party: RelyingParty, key: Key, issuer: str) -> str:
        text = signed((party, key), issuer, header={"alg": "HS256"}).rpartition(".")[0]
        return f"{text}.{encode(hmac.digest(secret(party, key), text.encode(), 'sha256'))}"

    return make


def as_pem(_party: RelyingParty, key: Key) -> bytes:
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def a_client_assertion(party: RelyingParty, key: Key, issuer: str) -> str:
    return assertion(party.client_id, key, issuer=issuer)


# The signer is unknown: a page.
NOT_ITS_OWN: dict[str, Make] = {
    "ensure-request-object-signature-algorithm-is-not-none": unsigned,
    "negative-test-invalid-request-object-signature": changed_afterwards,
    "negative-test-mismatched-client-id": claims(client_id="somebody"),
    "no client_id": claims(client_id=None),
    "a client_id in a list": lambda party, key, issuer: signed(
        (party, key), issuer, client_id=[party.client_id]
    ),
    "signed by another key": by_another_key,
    "signed by a key that it brings": with_its_own_key,
    "a header with an address of keys": lambda party, _key, issuer: signed(
        (party, new_key()), issuer, header={"jku": "https://evil.example/jwks"}
    ),
    "an alg of secrets": header(alg="HS256"),
    "signed with the client's secret": by_secret(
        lambda party, _key: client_secrets.rotate(party, now=timezone.now()).text.encode()
    ),
    "signed with the text of the public key": by_secret(as_pem),
    "signed with the registered JWK as text": by_secret(
        lambda party, _key: json.dumps((party.jwks or {})["keys"][0]).encode()
    ),
    "a duplicate member: client_id": twice("client_id"),
    "a duplicate member: nonce": twice("nonce"),
    "alg ES384": header(alg="ES384"),
    "alg RS256": header(alg="RS256"),
    "no alg": header(alg=None),
    "an unknown kid": header(kid="two"),
    "a kid that is a number": header(kid=1),
    "no typ": header(typ=None),
    "typ JWT": header(typ="JWT"),
    "typ of another tree": header(typ="text/oauth-authz-req+jwt"),
    "a client assertion": a_client_assertion,
    "an access token": header(typ="at+jwt"),
    "a text that cannot be said": claims(state="\ud800"),
    "a header that asks for an extension": header(crit=["b64"], b64=False),
    "text": lambda *_: "x",
    "two segments": lambda *_: "e30.e30",
    "five segments, as if encrypted": lambda *_: "e30.e30.e30.e30.e30",
}
# Signed by the client, but invalid or expired: the error is sent to the client.
NOT_GOOD: dict[str, Make] = {
    "a response_type in a list": claims(response_type=["vp_token"]),
    "a response_mode that is a number": claims(response_mode=1),
    "a response_uri that is an object": claims(response_uri={}),
    "a scope in a list": claims(scope=["openid"]),
    "a login_hint that is true": claims(login_hint=True),
    "a nonce in a list": claims(nonce=["n-0S6_WzA2Mj~0123456"]),
    "a nonce that is a number": claims(nonce=12345678901234567890),
    "a query that is a list": claims(scope=None, dcql_query=[]),
    "a query that is a number": claims(scope=None, dcql_query=7),
    "metadata in a list": claims(client_metadata=[{}]),
    "metadata that is false": claims(client_metadata=False),
    "a text with NUL": claims(login_hint="a\x00b"),
    "transaction data in an object": claims(transaction_data={"a": "b"}),
    "transaction data that is a number": claims(transaction_data=0),
    "a request_uri_method in a list": claims(request_uri_method=["post"]),
    "an aud that is a number": claims(aud=7),
    "an aud in a list in a list": claims(aud=[["x"]]),
    "an iat in a list": claims(iat=[1]),
    "expired (exp > 5 min past)": from_now(exp=-300),
    "not valid yet (nbf > 60 s ahead)": from_now(nbf=61),
    "made in the future": from_now(iat=61),
    "made in the future, without exp": from_now(exp=None, iat=61),
    "not valid yet, without exp": from_now(exp=None, nbf=61),
    "an exp far away": from_now(exp=int(LIFETIME.total_seconds()) + 60),
    "an exp that is a text": claims(exp=str(2**40)),
    "an exp beyond all numbers": claims(exp=10**400),
    "no exp, and an iat beyond all numbers": claims(exp=None, iat=10**400),
    "an exp that is true": claims(exp=True),
    "no aud": claims(aud=None),
    "another aud": claims(aud="https://other.example"),
    "an aud with a slash more": lambda party, key, issuer: signed((party, key), issuer, aud=issuer + "/"),
    "several others in aud": claims(aud=["https://other.example", "https://third.example"]),
    "nobody in aud": claims(aud=[]),
    "a number beside us in aud": lambda party, key, issuer: signed((party, key), issuer, aud=[issuer, 7]),
    "the authorization endpoint as aud": lambda party, key, issuer: signed(
        (party, key), issuer, aud=issuer + PATH
    ),
    "what could be a client assertion": lambda party, key, issuer: signed(
        (party, key), issuer, sub=party.client_id
    ),
    "a request in the request": claims(request="e30.e30.e30"),
    "par-authorization-request-containing-request_uri": claims(request_uri="https://bank.example/requests/1"),
}


@pytest.mark.parametrize("make", NOT_ITS_OWN.values(), ids=NOT_ITS_OWN.keys())
def test_an_object_that_is_not_certainly_its_own_gets_a_page_and_is_not_pushed(
    client: Client, bank: Bank, settings: Any, make: Make
) -> None:
    text = make(*bank, settings.BASE_URL)

    shown = bring(client, bank, text, redirect_uri="https://bank.example/callback", state="outside")
    proof = by_assertion(assertion(bank[0].client_id, bank[1], issuer=settings.BASE_URL))
    told = send(client, {"request": text} | proof)

    assert shown.status_code == 400
    assert "Location" not in shown.headers
    assert (told.status_code, told.json()["error"]) == (400, "invalid_request_object"), told.content
    assert not Interaction.objects.exists()


@pytest.mark.parametrize("make", NOT_GOOD.values(), ids=NOT_GOOD.keys())
def test_an_invalid_object_of_the_client_is_reported_to_the_client(
    client: Client, bank: Bank, settings: Any, make: Make
) -> None:
    text = make(*bank, settings.BASE_URL)

    home = bring(client, bank, text, state="outside").headers["Location"]
    proof = by_assertion(assertion(bank[0].client_id, bank[1], issuer=settings.BASE_URL))
    told = send(client, {"request": text} | proof)

    assert home.startswith("https://bank.example/callback#")
    assert fragment(home)["error"] == "invalid_request_object"
    assert fragment(home)["state"] == "af0ifjsldkj"
    assert (told.status_code, told.json()["error"]) == (400, "invalid_request_object"), told.content
    assert not Interaction.objects.exists()


@pytest.mark.parametrize("state", [7, 1.5, True, ["a"], {"a": "b"}, "a\x00b"])
def test_an_unusable_state_is_reported_to_the_relying_party_without_it(
    client: Client, bank: Bank, settings: Any, state: Any
) -> None:
    home = bring(client, bank, signed(bank, settings.BASE_URL, state=state)).headers["Location"]

    assert home.startswith("https://bank.example/callback#")
    assert fragment(home)["error"] == "invalid_request_object"
    assert "state" in fragment(home)["error_description"]
    assert "state" not in fragment(home)


@pytest.mark.parametrize("uri", [7, True, ["https://bank.example/callback"], {}, "https://bank.example/\0"])
def test_a_redirect_uri_of_the_wrong_type_gets_a_page_that_names_it(
    client: Client, bank: Bank, settings: Any, uri: Any
) -> None:
    response = bring(client, bank, signed(bank, settings.BASE_URL, redirect_uri=uri))

    assert response.status_code == 400
    assert "Location" not in response.headers
    assert "redirect_uri" in response.content.decode()
    assert "percent-encoded" not in response.content.decode()


def test_an_object_with_a_wrong_type_for_a_posted_answer_is_reported_by_post(
    client: Client, bank: Bank, settings: Any
) -> None:
    with listening() as receiver:
        bank[0].response_uris.create(uri=receiver.uri)
        posted = {"redirect_uri": None, "response_uri": receiver.uri, "response_mode": "direct_post"}
        for mistake in ({"nonce": 7}, {"response_mode": ["direct_post"]}):
            response = bring(client, bank, signed(bank, settings.BASE_URL, **(posted | mistake)))
            assert response.status_code == 400  # no return address is known

    assert [dict(parse_qsl(told.body))["error"] for told in receiver.posted] == ["invalid_request_object"] * 2


def test_an_error_of_its_own_still_goes_only_to_a_registered_address(
    client: Client, bank: Bank, settings: Any
) -> None:
    for times in ({"exp": 1}, {}):
        text = signed(bank, settings.BASE_URL, redirect_uri="https://evil.example/", **times)
        response = bring(client, bank, text, redirect_uri="https://bank.example/callback")
        assert response.status_code == 400
        assert "Location" not in response.headers


@pytest.mark.parametrize("make", [claims(exp=None, iat=None), claims(exp=None)], ids=["neither", "no exp"])
def test_a_client_whose_requests_must_all_be_signed_says_when_they_end_unless_it_may_leave_that_out(
    client: Client, bank: Bank, settings: Any, make: Make
) -> None:
    text = make(*bank, settings.BASE_URL)
    proof = by_assertion(assertion(bank[0].client_id, bank[1], issuer=settings.BASE_URL))
    RelyingParty.objects.update(requires_signed_requests=True)

    refused = bring(client, bank, text).headers["Location"]
    told = send(client, {"request": text} | proof)
    RelyingParty.objects.update(may_omit_exp=True)
    accepted = bring(client, bank, text).headers["Location"]

    assert fragment(refused)["error"] == told.json()["error"] == "invalid_request_object"
    assert "(exp)" in fragment(refused)["error_description"]
    assert accepted.startswith("/wallet/")


# --- Valid objects ----------------------------------------------------------------------------------------

TIMELESS: dict[str, Make] = {
    "neither exp nor iat": claims(exp=None, iat=None),
    "an old iat": from_now(exp=None, iat=-86_400),
    "nbf": from_now(exp=None, iat=None, nbf=-60),
}


@pytest.mark.parametrize("make", TIMELESS.values(), ids=TIMELESS.keys())
def test_where_unsigned_requests_are_accepted_a_signed_one_needs_no_end_either(
    client: Client, bank: Bank, settings: Any, make: Make
) -> None:
    text = make(*bank, settings.BASE_URL)
    proof = by_assertion(assertion(bank[0].client_id, bank[1], issuer=settings.BASE_URL))

    assert bring(client, bank, text).headers["Location"].startswith("/wallet/")
    assert send(client, {"request": text} | proof).status_code == 201


GOOD: dict[str, Make] = {
    "as it should be": claims(),
    "nbf 8 s ahead": from_now(nbf=8),
    "valid for an hour": from_now(exp=int(LIFETIME.total_seconds())),
    "typ in full": header(typ="application/oauth-authz-req+jwt"),
    "typ in other letters": header(typ="Application/OAuth-AuthZ-Req+JWT"),
    "one aud in a list": lambda party, key, issuer: signed((party, key), issuer, aud=[issuer]),
    "us among others in aud": lambda party, key, issuer: signed(
        (party, key), issuer, aud=["https://other.example", issuer]
    ),
    "static discovery among others": claims(aud=["https://other.example", "https://self-issued.me/v2"]),
    "static discovery": claims(aud="https://self-issued.me/v2"),
    "RO iss != client_id ignored": claims(iss="somebody"),
    "no kid with one key": header(kid=None),
    "unknown claims ignored": claims(prompt="none", client_metadata={"jwks": {"keys": []}}),
}


@pytest.mark.parametrize("make", GOOD.values(), ids=GOOD.keys())
def test_a_good_object_leads_to_the_answer(holder: Client, bank: Bank, settings: Any, make: Make) -> None:
    RelyingParty.objects.update(requires_signed_requests=True)

    page = address_of_page(bring(holder, bank, make(*bank, settings.BASE_URL)))
    answer = fragment(holder.get(decide(holder, page)).headers["Location"])

    assert set(answer) == {"vp_token", "state"}


def test_json_values_are_values_in_an_object(holder: Client, bank: Bank, settings: Any) -> None:
    value = encoded(session_data())
    asked_for = {"credentials": [query({"path": ["given_name"]}, id="basic")]}
    text = signed(
        bank, settings.BASE_URL, scope=None, dcql_query=asked_for, transaction_data=[value], state="sträng ✓"
    )

    page = address_of_page(bring(holder, bank, text))
    shown = holder.get(page)
    answer = fragment(holder.get(decide(holder, page)).headers["Location"])

    assert values_on(shown) == ["Alice"]
    assert "192.0.2.7" in shown.content.decode()
    assert answer["state"] == "sträng ✓"
    _jwt, _disclosures, binding, _bound = take_apart(answer["vp_token"])
    assert len(binding.payload["transaction_data_hashes"]) == 1


@pytest.mark.parametrize("as_text", [False, True])
def test_a_query_and_metadata_may_be_objects_or_the_same_as_text(
    holder: Client, bank: Bank, settings: Any, as_text: bool
) -> None:
    """openid-client sends text, as in an address; OpenID4VP 1.0 §5.1 requires objects."""
    said = (lambda value: json.dumps(value)) if as_text else (lambda value: value)  # noqa: E731
    key = ECKey.generate_key("P-256", {"kid": "fresh", "use": "enc", "alg": "ECDH-ES"})
    with listening() as receiver:
        bank[0].response_uris.create(uri=receiver.uri)
        text = signed(
            bank,
            settings.BASE_URL,
            redirect_uri=None,
            response_mode="direct_post.jwt",
            response_uri=receiver.uri,
            client_metadata=said({"jwks": {"keys": [key.as_dict(private=False)]}}),
            scope=None,
            dcql_query=said({"credentials": [query({"path": ["given_name"]}, id="basic")]}),
        )
        page = address_of_page(bring(holder, bank, text))
        shown = holder.get(page)
        holder.get(decide(holder, page))

    assert values_on(shown) == ["Alice"]
    (posted,) = receiver.posted
    opened = jwe.decrypt_compact(dict(parse_qsl(posted.body))["response"], key)
    assert take_apart(json.loads(opened.plaintext or b"")["vp_token"])


@pytest.mark.parametrize("text", ["{}", "[]", "x", "7", "null", '"{}"', '{"credentials": []}', "{" * 500])
def test_a_text_that_is_no_query_is_reported_as_in_an_address(
    client: Client, bank: Bank, settings: Any, text: str
) -> None:
    inside = bring(client, bank, signed(bank, settings.BASE_URL, scope=None, dcql_query=text))
    outside = client.get(PATH, asked(bank[0], scope=None, dcql_query=text))

    assert fragment(inside.headers["Location"]) == fragment(outside.headers["Location"])
    assert fragment(inside.headers["Location"])["error"] == "invalid_request"


def test_mistakes_inside_an_object_are_reported_like_those_in_an_address(
    client: Client, bank: Bank, settings: Any
) -> None:
    for changes, error in (
        ({"nonce": None}, "invalid_request"),
        ({"scope": "openid"}, "invalid_scope"),
        ({"response_type": "id_token"}, "unsupported_response_type"),
        ({"transaction_data": ["e30"]}, "invalid_transaction_data"),
        ({"state": "s" * 2049}, "invalid_request"),
        ({"response_mode": "query"}, "invalid_request"),
    ):
        home = bring(client, bank, signed(bank, settings.BASE_URL, **changes)).headers["Location"]
        assert fragment(home)["error"] == error


# --- Other parameters do not count ------------------------------------------------------------------------


@pytest.fixture
def answer_to(client: Client, bank: Bank, settings: Any, alice: Wallet, sign_in: SignIn) -> Any:
    """The address of Alice's answer to the good object, with these parameters beside the object."""
    sign_in(alice)

    def answer_to(**outside: str) -> str:
        page = address_of_page(bring(client, bank, signed(bank, settings.BASE_URL), **outside))
        home: str = client.get(decide(client, page)).headers["Location"]
        return home

    return answer_to


def test_ensure_different_nonce_inside_and_outside_request_object(answer_to: Any) -> None:
    home = answer_to(nonce="another-nonce-altogether")

    _jwt, _disclosures, binding, _bound = take_apart(fragment(home)["vp_token"])
    assert binding.payload["nonce"] == "n-0S6_WzA2Mj~0123456"


def test_ensure_different_state_inside_and_outside_request_object(answer_to: Any) -> None:
    assert fragment(answer_to(state="outside"))["state"] == "af0ifjsldkj"


def test_nothing_else_outside_counts_either(answer_to: Any) -> None:
    home = answer_to(
        scope="openid", redirect_uri="https://bank.example/other?lang=en", login_hint="bob@example.org"
    )

    assert home.startswith("https://bank.example/callback#")
    assert "vp_token" in fragment(home)


def test_state_only_outside_request_object_not_used(holder: Client, bank: Bank, settings: Any) -> None:
    page = address_of_page(bring(holder, bank, signed(bank, settings.BASE_URL, state=None), state="outside"))

    assert set(fragment(holder.get(decide(holder, page)).headers["Location"])) == {"vp_token"}


def test_repeated_parameters_outside_are_no_mistake_but_repeated_objects_are(
    client: Client, bank: Bank, settings: Any
) -> None:
    object_ = signed(bank, settings.BASE_URL)
    good = urlencode({"client_id": bank[0].client_id, "request": object_})

    assert client.get(f"{PATH}?{good}&state=a&state=b").status_code == 303
    assert client.get(f"{PATH}?{good}&request={object_}").status_code == 400
    assert client.get(f"{PATH}?{good}&request_uri=urn:x").status_code == 400
    assert client.get(f"{PATH}?{good}&client_id=x").status_code == 400
    assert client.get(f"{PATH}?{urlencode({'request': object_})}").status_code == 400
    assert client.get(f"{PATH}?client_id={bank[0].client_id}&request=").status_code == 400


def test_an_object_of_one_client_is_none_of_another(client: Client, bank: Bank, settings: Any) -> None:
    other = register("Evil", "https://bank.example/callback", jwks=bank[0].jwks)

    response = bring(client, (other, bank[1]), signed(bank, settings.BASE_URL))

    assert response.status_code == 400


def test_who_is_suspended_or_has_no_key_signs_nothing(client: Client, bank: Bank, settings: Any) -> None:
    object_ = signed(bank, settings.BASE_URL)
    RelyingParty.objects.update(jwks=None)
    assert bring(client, bank, object_).status_code == 400

    RelyingParty.objects.update(jwks=bank[0].jwks)
    registration.suspend(bank[0], "Complaints")
    assert bring(client, bank, object_).status_code == 400


def test_a_relying_party_that_must_sign_cannot_ask_otherwise(client: Client, bank: Bank) -> None:
    RelyingParty.objects.update(requires_signed_requests=True)

    answer = fragment(client.get(PATH, asked(bank[0])).headers["Location"])

    assert answer["error"] == "invalid_request"
    assert "signed" in answer["error_description"]


def test_one_that_must_push_may_sign_but_must_push_that(client: Client, bank: Bank, settings: Any) -> None:
    RelyingParty.objects.update(requires_pushed_requests=True, requires_signed_requests=True)
    object_ = signed(bank, settings.BASE_URL)
    proof = by_assertion(assertion(bank[0].client_id, bank[1], issuer=settings.BASE_URL))

    brought = fragment(bring(client, bank, object_).headers["Location"])
    pushed = send(client, {"request": object_} | proof)

    assert brought["error"] == "invalid_request"
    assert pushed.status_code == 201, pushed.content
    assert go(client, pushed.json()["request_uri"], bank[0]).headers["Location"].startswith("/wallet/")


def test_beside_a_pushed_object_nothing_counts(client: Client, bank: Bank, settings: Any) -> None:
    proof = by_assertion(assertion(bank[0].client_id, bank[1], issuer=settings.BASE_URL))
    form = {"request": signed(bank, settings.BASE_URL), "scope": "openid", "state": "outside"}

    assert send(client, form | proof).status_code == 201
    kept = dict(PushedRequest.objects.get().parameters)
    del kept["request_uri"]  # the digest of its own handle
    assert kept == asked(bank[0])


def test_another_clients_object_cannot_be_pushed(client: Client, bank: Bank, settings: Any) -> None:
    other = with_key("Corner Shop")
    proof = by_assertion(assertion(other[0].client_id, other[1], issuer=settings.BASE_URL))

    told = send(client, {"request": signed(bank, settings.BASE_URL)} | proof)

    assert (told.status_code, told.json()["error"]) == (400, "invalid_request_object")


@pytest.mark.parametrize("way", ["plain", "signed"])
def test_par_without_duplicate_parameters(holder: Client, bank: Bank, settings: Any, way: str) -> None:
    """The browser brings only `client_id` and the handle of a pushed request."""
    form = asked(bank[0]) if way == "plain" else {"request": signed(bank, settings.BASE_URL)}
    proof = by_assertion(assertion(bank[0].client_id, bank[1], issuer=settings.BASE_URL))
    handle = send(holder, form | proof).json()["request_uri"]

    page = address_of_page(go(holder, handle, bank[0]))

    home = holder.get(decide(holder, page)).headers["Location"]
    assert home.startswith("https://bank.example/callback#")
    assert set(fragment(home)) == {"vp_token", "state"}


# --- Published --------------------------------------------------------------------------------------------


@pytest.fixture
def publisher(bank: Bank, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Acme Bank's own server; the addresses below /requests/ are registered."""
    with far_end(says(b"")) as far:
        monkeypatch.setattr(signed_requests, "outbound", far.outbound())
        RelyingParty.objects.update(request_uri_prefix=far.url("/requests/"))
        yield far


def publishes(far: FarEnd, text: str, content_type: str = f"application/{TYPE}", **how: str) -> None:
    far.behaviour = answers(text.encode(), f"Content-Type: {content_type}", **how)


def refer(client: Client, bank: Bank, uri: str, **beside: str) -> Any:
    return client.get(PATH, {"client_id": bank[0].client_id, "request_uri": uri} | beside)


def test_a_published_object_is_fetched_and_leads_to_the_answer(
    holder: Client, bank: Bank, publisher: FarEnd, settings: Any
) -> None:
    RelyingParty.objects.update(requires_signed_requests=True)
    publishes(publisher, signed(bank, settings.BASE_URL))

    page = address_of_page(refer(holder, bank, publisher.url("/requests/1?a=b"), state="outside"))
    answer = fragment(holder.get(decide(holder, page)).headers["Location"])

    assert answer["state"] == "af0ifjsldkj"
    (request,) = publisher.requests
    assert request.startswith(b"GET /requests/1?a=b HTTP/1.1\r\n")
    assert b"Accept: application/oauth-authz-req+jwt" in request


UNREGISTERED = {
    "another path": "/other/1",
    "above it": "/requests/../other",
    "above it, encoded": "/requests/%2e%2E/other",
    "above it, by a slash that hides": "/requests/..%2fother",
    "above it, by a backslash that hides": "/requests/..%5Cother",
    "above it, encoded twice": "/requests/%252e%252e/other",
    "above it, past what a server takes for a parameter": "/requests/..;/other",
    "above it, past an empty parameter": "/requests/..;a=b/other",
    "above it, with a NUL between": "/requests/.%00./x",
    "above it, with a space after": "/requests/..%20/other",
    "above it, in wide letters": "/requests/%EF%BC%8E%EF%BC%8E/other",
    "above it, in more octets than it needs": "/requests/%c0%ae%c0%ae/other",
    "above it, by a wide slash": "/requests/..%EF%BC%8Fother",
    "above it, at the end": "/requests/x/..",
    "here": "/requests/./x",
    "a slash that hides": "/requests/a%2Fb",
    "an end of the path that hides": "/requests/a%3Fb",
    "a line break": "/requests/a%0d%0ab",
    "an escape that is none": "/requests/a%b",
    "an empty segment": "/requests//evil.example/",
    "the name without its slash": "/requests",
    "a longer name": "/requests-of-others/1",
}


@pytest.mark.parametrize("path", UNREGISTERED.values(), ids=UNREGISTERED.keys())
def test_nothing_is_fetched_but_what_is_below_the_registered_address(
    client: Client, bank: Bank, publisher: FarEnd, settings: Any, path: str
) -> None:
    publishes(publisher, signed(bank, settings.BASE_URL))

    assert refer(client, bank, publisher.url(path)).status_code == 400
    assert publisher.connections == 0


def test_nothing_is_fetched_for_a_suspended_relying_party(
    client: Client, bank: Bank, publisher: FarEnd, settings: Any
) -> None:
    publishes(publisher, signed(bank, settings.BASE_URL))
    registration.suspend(bank[0], "Complaints")

    assert refer(client, bank, publisher.url("/requests/1")).status_code == 400
    assert publisher.connections == 0


@pytest.mark.parametrize(
    "uri",
    [
        "http://keys.bank.example/requests/1",
        "https://keys.bank.example.evil.example/requests/1",
        "https://keys.bank.example@evil.example/requests/1",
        "https://evil.example/requests/1",
        "//keys.bank.example/requests/1",
        "file:///etc/passwd",
        "data:application/oauth-authz-req+jwt,x",
        "urn:ietf:params:oauth:request_uri:x",
        "urn:x",
    ],
)
def test_no_other_address_is_even_looked_up(client: Client, bank: Bank, publisher: FarEnd, uri: str) -> None:
    response = refer(client, bank, uri, redirect_uri="https://bank.example/callback")

    assert response.status_code == 400
    assert publisher.connections == 0


PUBLISHED_WRONG: dict[str, Callable[[FarEnd, str], None]] = {
    "another media type": lambda far, text: publishes(far, text, "application/jwt"),
    "not there": lambda far, text: publishes(far, text, status="404 Not Found"),
    "a redirect": lambda far, _text: setattr(
        far, "behaviour", answers(b"", "Location: https://127.0.0.1/", status="302 Found")
    ),
    "nothing": lambda far, _text: publishes(far, ""),
    "no JWT": lambda far, _text: publishes(far, "<html>"),
    "too much": lambda far, text: publishes(far, text + "x" * 70_000),
    "bytes that are no text": lambda far, _text: setattr(
        far, "behaviour", answers(b"\xff\xfe", f"Content-Type: application/{TYPE}")
    ),
    "hangs up": lambda far, _text: setattr(far, "behaviour", says(b"")),
}


@pytest.mark.parametrize("publish", PUBLISHED_WRONG.values(), ids=PUBLISHED_WRONG.keys())
def test_what_is_published_wrongly_gets_a_page(
    client: Client, bank: Bank, publisher: FarEnd, settings: Any, publish: Callable[[FarEnd, str], None]
) -> None:
    publish(publisher, signed(bank, settings.BASE_URL))

    response = refer(client, bank, publisher.url("/requests/1"))

    assert response.status_code == 400
    assert "Location" not in response.headers


@pytest.mark.parametrize(("length", "status"), [(500, 303), (501, 400), (512, 400), (513, 400)])
def test_an_address_has_a_length(
    client: Client, bank: Bank, publisher: FarEnd, settings: Any, length: int, status: int
) -> None:
    """RFC 9101 §5.2 allows 512 characters. An address that this service calls may have 500."""
    publishes(publisher, signed(bank, settings.BASE_URL))
    below = publisher.url("/requests/")
    uri = below + "x" * (length - len(below))

    told = refer(client, bank, uri)

    assert told.status_code == status
    assert publisher.connections == (status == 303)
    assert ("not be longer than 512" in told.content.decode()) is (length > 512)


def test_a_published_address_must_be_signed_for_as_well(
    client: Client, bank: Bank, publisher: FarEnd, settings: Any
) -> None:
    publishes(publisher, signed(bank, settings.BASE_URL, key=new_key()))

    assert refer(client, bank, publisher.url("/requests/1")).status_code == 400


def test_in_a_sandbox_on_this_machine_requests_and_keys_may_be_published_on_it_as_well(
    client: Client, bank: Bank, settings: Any
) -> None:
    """A developer's own machine, with outbound calls as the settings allow them."""
    jwks = json.dumps(bank[0].jwks).encode()
    request = signed(bank, settings.BASE_URL).encode()

    def behaviour(connection: Any) -> None:
        asked_for_keys = connection.recv(65_536).startswith(b"GET /jwks ")
        kind = "application/jwk-set+json" if asked_for_keys else f"application/{TYPE}"
        answers(jwks if asked_for_keys else request, f"Content-Type: {kind}")(connection)

    with far_end(behaviour, plain=True) as far:
        here = f"http://127.0.0.1:{far.port}"
        bank[0].jwks, bank[0].jwks_uri, bank[0].request_uri_prefix = None, f"{here}/jwks", f"{here}/requests/"
        bank[0].full_clean()
        bank[0].save()
        page = refer(client, bank, f"{here}/requests/1")

        assert page.headers["Location"].startswith("/wallet/")
        assert far.connections == 2
        settings.LOOPBACK_CALLS = False
        with pytest.raises(ValidationError) as refused:
            bank[0].full_clean()
        assert refused.value.message_dict.keys() == {"jwks_uri", "request_uri_prefix"}
        assert refer(client, bank, f"{here}/requests/1").status_code == 400
        assert far.connections == 2


# --- Posted nonce (`request_uri_method=post`) --------------------------------------------------------------


def makes(far: FarEnd, make: Callable[[dict[str, str]], str]) -> None:
    """The relying party's server answers a posted form with the object that `make` returns."""

    def behaviour(connection: Any) -> None:
        form = dict(parse_qsl(far.requests[-1].partition(b"\r\n\r\n")[2].decode(), strict_parsing=True))
        answers(make(form).encode(), f"Content-Type: application/{TYPE}")(connection)

    far.behaviour = behaviour


def test_an_object_that_is_posted_for_repeats_our_nonce_and_leads_to_the_answer(
    holder: Client, bank: Bank, publisher: FarEnd, settings: Any
) -> None:
    forms: list[dict[str, str]] = []

    def make(form: dict[str, str]) -> str:
        forms.append(form)
        audience = json.loads(form["wallet_metadata"])["issuer"]
        return signed(bank, audience, wallet_nonce=form["wallet_nonce"])

    makes(publisher, make)
    for _ in range(2):
        page = refer(holder, bank, publisher.url("/requests/1"), request_uri_method="post")
    answer = fragment(holder.get(decide(holder, address_of_page(page))).headers["Location"])

    assert "vp_token" in answer
    for request in publisher.requests:
        assert request.startswith(b"POST /requests/1 HTTP/1.1\r\n")
        assert b"\r\nAccept: application/oauth-authz-req+jwt\r\n" in request
        assert b"\r\nContent-Type: application/x-www-form-urlencoded\r\n" in request
    first, second = (form["wallet_nonce"] for form in forms)
    assert first != second
    assert len(decode(first)) == len(decode(second)) == 32
    assert all(form.keys() == {"wallet_nonce", "wallet_metadata"} for form in forms)
    assert json.loads(forms[0]["wallet_metadata"]) == json.loads(discovery_document())


@pytest.mark.parametrize("said", [None, "another", 7, ["x"]])
def test_an_object_that_does_not_repeat_our_nonce_is_none(
    client: Client, bank: Bank, publisher: FarEnd, settings: Any, said: Any
) -> None:
    makes(publisher, lambda _form: signed(bank, settings.BASE_URL, wallet_nonce=said))

    home = refer(client, bank, publisher.url("/requests/1"), request_uri_method="post").headers["Location"]

    assert fragment(home)["error"] == "invalid_request_object"
    assert "wallet_nonce" in fragment(home)["error_description"]
    assert not Interaction.objects.exists()


def test_where_a_nonce_may_be_posted_is_as_registered_as_any_other(
    client: Client, bank: Bank, publisher: FarEnd, settings: Any
) -> None:
    makes(publisher, lambda form: signed(bank, settings.BASE_URL, wallet_nonce=form["wallet_nonce"]))
    elsewhere = refer(client, bank, publisher.url("/other/1"), request_uri_method="post")
    publisher.behaviour = answers(b"", "Location: https://127.0.0.1/", status="307 Temporary Redirect")
    redirected = refer(client, bank, publisher.url("/requests/1"), request_uri_method="post")

    assert (elsewhere.status_code, redirected.status_code) == (400, 400)
    assert publisher.connections == 1


@pytest.mark.parametrize("method", ["POST", "Get", "put", "p" * 101])
def test_an_unknown_request_uri_method_is_reported_to_the_client(
    client: Client, bank: Bank, publisher: FarEnd, settings: Any, method: str
) -> None:
    publishes(publisher, signed(bank, settings.BASE_URL))

    home = refer(client, bank, publisher.url("/requests/1"), request_uri_method=method).headers["Location"]

    assert fragment(home)["error"] == "invalid_request_uri_method"
    assert fragment(home)["state"] == "af0ifjsldkj"
    assert publisher.requests[0].startswith(b"GET ")


def test_request_uri_method_may_be_get_but_not_repeated(
    client: Client, bank: Bank, publisher: FarEnd, settings: Any
) -> None:
    publishes(publisher, signed(bank, settings.BASE_URL))
    uri = publisher.url("/requests/1")
    beside = urlencode({"client_id": bank[0].client_id, "request_uri": uri})

    twice = client.get(f"{PATH}?{beside}&request_uri_method=get&request_uri_method=post")
    assert fragment(twice.headers["Location"])["error"] == "invalid_request_uri_method"
    assert refer(client, bank, uri, request_uri_method="get").headers["Location"].startswith("/wallet/")


def test_a_method_without_an_address_is_refused(client: Client, bank: Bank, settings: Any) -> None:
    plain = client.get(PATH, asked(bank[0], request_uri_method="post"))
    along = bring(client, bank, signed(bank, settings.BASE_URL), request_uri_method="get")
    inside = bring(client, bank, signed(bank, settings.BASE_URL, request_uri_method="get"))
    proof = by_assertion(assertion(bank[0].client_id, bank[1], issuer=settings.BASE_URL))
    pushed = send(client, asked(bank[0], request_uri_method="post") | proof)

    for response in (plain, along, inside):
        assert fragment(response.headers["Location"])["error"] == "invalid_request"
    assert (pushed.status_code, pushed.json()["error"]) == (400, "invalid_request")


@pytest.mark.usefixtures("windows_just_begun")
def test_the_number_of_fetches_for_one_client_address_is_limited(
    client: Client, bank: Bank, publisher: FarEnd, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signed_requests, "FETCHES", Limit("few-fetches", most=2, window=timedelta(days=1)))
    publishes(publisher, signed(bank, settings.BASE_URL))

    answers = [refer(client, bank, publisher.url("/requests/1")) for _ in range(4)]

    assert [answer.status_code for answer in answers] == [303, 303, 429, 429]
    assert 0 < int(answers[-1].headers["Retry-After"]) <= 86_400
    assert publisher.connections == 2


def test_one_slow_publisher_does_not_take_every_thread(
    client: Client, bank: Bank, publisher: FarEnd, settings: Any
) -> None:
    publishes(publisher, signed(bank, settings.BASE_URL))
    uri = publisher.url("/requests/1")

    with waiting_for(bank[0].pk), waiting_for(bank[0].pk):
        told = refer(client, bank, uri)

    assert (told.status_code, told.headers["Retry-After"], publisher.connections) == (503, "1", 0)
    assert "try again later" in told.content.decode()
    assert refer(client, bank, uri).status_code == 303


@pytest.mark.parametrize(
    ("prefix", "uri", "good"),
    [
        ("https://a.example/r/", "https://a.example/r/1", True),
        ("https://a.example/r/", "https://a.example/r/", True),
        ("https://a.example/r/", "https://a.example/r/1?to=https://a.example//x/../y;z%2f", True),
        ("https://a.example/r/", "https://a.example/r/a%20b/%C3%A9/a.b/..c/~x=1,2", True),
        ("https://a.example/", "https://a.example/anything", True),
        ("https://a.example/r", "https://a.example/r", True),
        ("https://a.example/r", "https://a.example/r1", False),
        ("https://a.example/r", "https://a.example/r/1", False),
        ("https://a.example/r", "https://a.example/r?x=1", False),
        ("https://a.example/", "https://a.example.evil.example/", False),
        ("https://a.example/r/", "https://A.example/r/1", False),
        ("", "https://a.example/", False),
    ],
)
def test_what_is_below_a_registered_address(prefix: str, uri: str, good: bool) -> None:
    assert is_registered(uri, prefix) is good


@pytest.mark.parametrize(
    "prefix",
    [
        "https://a.example",
        "http://a.example/",
        "https://a.example/../",
        "https://a.example/#x",
        "x",
        "https:///",
    ],
)
def test_an_address_that_could_mean_others_cannot_be_registered(prefix: str) -> None:
    assert problem_with(prefix)


@given(st.text(max_size=40))
def test_only_what_begins_with_it_is_below_it(rest: str) -> None:
    prefix = "https://a.example/r/"
    assert not is_registered(rest, prefix)
    if is_registered(prefix + rest, prefix):
        path = unquote(unquote(rest.split("?")[0]))
        assert not {".", ".."} & set(path.split("/"))
        assert not set("\\;\x00") & set(path)


# --- Arbitrary input --------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
NAMES = (
    "aud",
    "exp",
    "iat",
    "nbf",
    "sub",
    "state",
    "nonce",
    "dcql_query",
    "transaction_data",
    "request",
    "x",
)
KEY = new_key()


@given(st.dictionaries(st.sampled_from(NAMES), JSON), st.booleans())
def test_any_claims_are_parameters_or_refused(changes: dict[str, Any], needs_end: bool) -> None:
    now = timezone.now()
    good = {"client_id": "bank", "aud": "https://issuer.example", "exp": int(now.timestamp()) + 60}
    text = sign_jwt({"alg": "ES256", "typ": TYPE}, good | changes, KEY)

    with suppress(RequestObjectError):
        said = read(
            text,
            client_id="bank",
            find_keys=lambda _kid: {"one": KEY.public_key()},
            issuer="https://issuer.example",
            now=now,
            needs_end=needs_end,
        )
        assert json.loads(json.dumps(dict(said.values))) == said.values
        assert all(isinstance(value, str) for value in said.values.values())


MEMBERS = sorted({*LIMITS, *NAMES, "iss", "jti", "wallet_nonce"} - {"client_id", "redirect_uri"})
# Also values that are valid for another member, and values just beyond a limit.
LIKELY = st.sampled_from(
    [
        "vp_token",
        "fragment",
        "direct_post",
        "direct_post.jwt",
        "post",
        "get",
        "openid",
        "{}",
        "[]",
        "e30",
        "[7]",
    ]
)
WHOLE = st.dictionaries(st.sampled_from(["credentials", "id", "format", "jwks", "keys"]), JSON | LIKELY)


@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from(MEMBERS), JSON | LIKELY | WHOLE, min_size=1, max_size=3))
def test_any_value_of_any_member_works_or_is_reported_to_the_client(
    client: Client, bank: Bank, settings: Any, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
) -> None:
    """An object with a valid signature and redirect URI leads to a redirect, and never to a failure."""
    monkeypatch.setattr(
        interactions, "UNAUTHENTICATED", Limit("all", most=10**6, window=timedelta(minutes=1))
    )
    now = int(time.time())
    good = {"iss": bank[0].client_id, "aud": settings.BASE_URL, "iat": now, "exp": now + 60, **asked(bank[0])}
    text = sign_jwt({"alg": "ES256", "typ": TYPE, "kid": "one"}, good | changes, bank[1])
    assume(len(text) < 7000)  # the longest query of an address

    response = bring(Client(), bank, text)  # whose parameters this browser brings for the first time

    assert response.status_code == 303, response.content
    where = response.headers["Location"]
    if not where.startswith("/wallet/"):
        assert where.startswith("https://bank.example/callback#")
        assert fragment(where)["error"].startswith(("invalid_", "un", "vp_"))
    proof = by_assertion(assertion(bank[0].client_id, bank[1], issuer=settings.BASE_URL))
    pushed = send(client, {"request": text} | proof)
    assert pushed.status_code == (201 if where.startswith("/wallet/") else 400), pushed.content
