"""The playground's pages: a request to copy, and requests with mistakes that fail as the page says."""

import base64
import json
import re
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256
from django.test import Client
from django.urls import reverse

import sandbox
from keys.endpoints import root_der
from presentation.dcql.queries import BASIC
from presentation.errors import AuthorizationError
from presentation.models import RelyingParty, Scope
from presentation.parameters import LIMITS, REQUEST_OBJECT_PARAMETERS, Parameters
from presentation.requests.wire_formats.registered import wire_format_of
from presentation.scopes.records import ONLY_BASIC
from presentation.transaction_data import entries
from sandbox.playground.examples import URNS, example, for_scopes
from sandbox.playground.sample_request import MISTAKES, PARAMETERS, SampleRequest, encode_transaction
from tests.people import register
from tests.sandbox.playground_page import request_on

ROOT = Path(__file__).resolve().parent.parent.parent
MODULES = Path(sandbox.__file__).parent / "static" / "playground"
PLAYGROUND = "/playground/"


@pytest.fixture
def callback(settings: Any) -> str:
    return f"{settings.BASE_URL}/playground/callback/"


@pytest.fixture
def bank(db: None, callback: str) -> RelyingParty:
    return register("Acme Bank", callback, purpose="To open your account.")


@pytest.fixture
def shop(db: None, callback: str) -> RelyingParty:
    return register("Corner Shop", callback, wire_format="openid4vp-1.0")


def test_the_page_offers_the_relying_parties_with_the_playground_as_redirect_uri(
    client: Client, bank: RelyingParty, shop: RelyingParty
) -> None:
    register("Elsewhere", "https://elsewhere.example/callback")
    suspended = register("Suspended", f"{bank.redirect_uris.get().uri}")
    RelyingParty.objects.filter(id=suspended.id).update(state="suspended", suspension_reason="A test.")

    page = client.get(PLAYGROUND)

    assert [party.name for party in page.context["parties"]] == ["Acme Bank", "Corner Shop"]
    assert "OpenID4VP 1.0" in page.content.decode()


def test_the_root_certificate_is_offered_with_the_fingerprint_it_has(
    client: Client, bank: RelyingParty, signing_key: Any
) -> None:
    root_der.refresh()
    text = client.get(PLAYGROUND).content.decode()
    root = x509.load_der_x509_certificate(client.get("/trust/root.der").content)

    assert 'href="/trust/root.pem"' in text
    assert 'href="/trust/root.der"' in text
    assert f"<code>{root.fingerprint(SHA256()).hex(' ').upper()}</code>" in text


def test_before_there_is_a_root_certificate_none_is_offered(client: Client, bank: RelyingParty) -> None:
    assert "/trust/root" not in client.get(PLAYGROUND).content.decode()


def test_without_anybody_to_ask_the_page_says_what_to_do(client: Client, db: None, callback: str) -> None:
    page = client.get(PLAYGROUND)
    assert page.status_code == 200
    assert callback in page.content.decode()
    assert "register_relying_party" in page.content.decode()


def test_go_leads_to_a_request_that_the_service_accepts(client: Client, bank: RelyingParty) -> None:
    page = client.get(PLAYGROUND)
    assert f'id="go" href="{page.context["authorize_url"]}"' in unescape(page.content.decode())
    answer = client.get(page.context["authorize_url"])
    assert answer.status_code == 303
    assert "error" not in answer.headers["Location"]


@pytest.mark.django_db
@pytest.mark.parametrize("urn", URNS)
def test_every_example_of_a_transaction_is_valid(urn: str) -> None:
    text = example(urn, [BASIC])
    (parsed,) = entries.parse(encode_transaction(text), credential_ids=("basic",), allowed_types=(urn,))
    assert parsed.type == urn


ONE, TWO = "urn:example:one-query", "urn:example:two-query"


@pytest.fixture
def three_scopes(db: None) -> None:
    for urn in (ONE, TWO):
        Scope(urn=urn, title=urn, required_claims=["given_name"]).save()


@pytest.mark.usefixtures("three_scopes")
@pytest.mark.parametrize(
    ("scopes", "ids"),
    [
        ([BASIC], ["basic"]),
        ([TWO], ["two-query"]),
        ([TWO, BASIC, TWO], ["two-query", "basic"]),
        (["unknown", ONE], ["one-query"]),
        ([], ["basic"]),
    ],
)
def test_a_transaction_names_the_queries_of_the_requested_scopes(scopes: list[str], ids: list[str]) -> None:
    for urn in URNS:
        assert json.loads(example(urn, scopes))["credential_ids"] == ids
        assert for_scopes(example(urn, [ONE]), scopes) == example(urn, scopes)


@pytest.mark.usefixtures("three_scopes")
def test_a_transaction_that_names_no_other_scope_stays_as_it_was_edited() -> None:
    for ids in ('["elsewhere"]', "[]", '["one-query"]', '"one-query"', '[["two-query"]]'):
        text = example(URNS[0], [BASIC]).replace('[\n    "basic"\n  ]', ids)
        assert ids in text
        assert for_scopes(text, [ONE, BASIC]) == text


@pytest.mark.usefixtures("three_scopes")
def test_a_transaction_of_another_scope_is_sent_for_the_chosen_one(
    client: Client, bank: RelyingParty
) -> None:
    urn = URNS[0]
    edited = example(urn, [BASIC]).replace("203.0.113.7", "198.51.100.1")
    chosen = {"client_id": bank.client_id, "scope": TWO, "transaction": urn, "transaction_text": edited}

    page = client.get(PLAYGROUND, chosen)

    expected = example(urn, [TWO]).replace("203.0.113.7", "198.51.100.1")
    assert request_on(page)["transaction_data"] == encode_transaction(expected)


def test_there_is_an_example_of_every_type_of_transaction() -> None:
    assert set(URNS) == set(entries.TYPES)


@pytest.mark.parametrize("urn", URNS)
def test_a_chosen_transaction_is_in_the_request_without_javascript(
    client: Client, bank: RelyingParty, urn: str
) -> None:
    other = next(each for each in URNS if each != urn)
    chosen = {"client_id": bank.client_id, "scope": [BASIC], "login_hint": "x@example.org"}

    page = client.get(PLAYGROUND, chosen | {"transaction": urn, "transaction_text": example(other, [BASIC])})

    sent = request_on(page)
    parameters = Parameters.from_query(urlsplit(page.context["authorize_url"]).query)
    parsed = wire_format_of(bank).parse_request(parameters, bank, ONLY_BASIC)
    assert [value.type for value in parsed.transaction_data] == [urn]
    assert sent["login_hint"] == "x@example.org"
    assert not re.search(r"\s", page.context["authorize_url"])


def test_every_view_has_a_new_nonce_and_state(client: Client, bank: RelyingParty) -> None:
    first, second = request_on(client.get(PLAYGROUND)), request_on(client.get(PLAYGROUND))
    assert first["nonce"] != second["nonce"]
    assert first["state"] != second["state"]
    assert first["nonce"] != first["state"]


@pytest.mark.parametrize("position", range(len(MISTAKES)), ids=[str(m.title) for m in MISTAKES])
def test_every_mistake_ends_as_the_page_promises(client: Client, bank: RelyingParty, position: int) -> None:
    mistake, url = client.get(PLAYGROUND).context["mistakes"][position]

    answer = client.get(url)

    if "never comes back" in str(mistake.outcome):
        assert answer.status_code == 400
        return
    fragment = dict(parse_qsl(urlsplit(answer.headers["Location"]).fragment))
    assert str(mistake.outcome) == f"comes back as {fragment['error']}"


HOSTILE = "\"><script>alert(1)</script>'&\x00\u202e"


def test_numbers_of_an_edited_transaction_are_sent_as_they_were_written() -> None:
    written = '{ "a b\\" c":\t[999999999999.000001 , 1.10, -0, 1e2],\n "d": " \\u0020 " }'
    sent = encode_transaction(written)
    octets = base64.urlsafe_b64decode(sent + "=" * (-len(sent) % 4))
    assert octets.decode() == '{"a b\\" c":[999999999999.000001,1.10,-0,1e2],"d":" \\u0020 "}'


@pytest.mark.parametrize("name", ["client_id", "scope", "login_hint", "transaction", "transaction_text"])
def test_what_the_address_says_never_becomes_markup(client: Client, bank: RelyingParty, name: str) -> None:
    urn = URNS[0]
    query = {"client_id": bank.client_id, "transaction": urn} | {name: HOSTILE + urn}
    page = client.get(PLAYGROUND, query)
    assert page.status_code == 200
    assert "<script>alert" not in page.content.decode()


def test_endless_values_are_cut(client: Client, bank: RelyingParty) -> None:
    urn = URNS[0]
    query = {"client_id": bank.client_id, "login_hint": "a" * 5000, "transaction": urn}
    page = client.get(PLAYGROUND, query | {"transaction_text": urn + "a" * 50_000})
    assert len(page.context["authorize_url"]) < 20_000


def test_the_parameters_explained_are_those_of_the_contract() -> None:
    unexplained = {"dcql_query", "request_uri_method", "ui_locales", "claims", "max_age", "prompt"}
    unexplained |= REQUEST_OBJECT_PARAMETERS
    assert set(PARAMETERS) == set(LIMITS) - unexplained


@pytest.mark.parametrize("response_uri", ["", "https://wallet.example/playground/answers/"])
def test_the_parameters_are_sent_in_the_order_they_are_explained(response_uri: str) -> None:
    transaction = URNS[0]
    sent = SampleRequest("c", "r", response_uri, ("s",), "l", transaction, "{}", "n", "t").parameters()
    assert list(sent) == [name for name in PARAMETERS if name in sent]
    assert ("redirect_uri" in sent) is not ("response_uri" in sent)


def subclasses(family: type) -> set[type]:
    direct = set(family.__subclasses__())
    return direct.union(*map(subclasses, direct))


def test_every_error_of_the_service_is_explained(client: Client, db: None) -> None:
    page = client.get(reverse("playground_callback")).content.decode()
    explained = re.findall(r'data-error="([^"]+)"', page)
    # They come to the page about a code.
    of_openid_connect = {"interaction_required", "unmet_authentication_requirements"}
    assert sorted(explained) == sorted(
        {kind.error for kind in subclasses(AuthorizationError)} - of_openid_connect
    )


@pytest.mark.parametrize("path", [PLAYGROUND, "/playground/callback/"])
def test_the_pages_are_never_stored_and_only_read(client: Client, bank: RelyingParty, path: str) -> None:
    assert "no-store" in client.get(path).headers["Cache-Control"]
    assert client.head(path).status_code == 200
    assert client.post(path).status_code == 405


@pytest.mark.parametrize("module", sorted(MODULES.glob("*.js")), ids=lambda path: path.name)
def test_the_scripts_need_no_library_and_make_no_markup(module: Path) -> None:
    text = module.read_text()
    imported = re.findall(r'from "([^"]+)"', text)
    assert all((MODULES / name).is_file() for name in imported)
    assert not re.search(
        r"\beval\(|new Function|innerHTML|outerHTML|insertAdjacentHTML|document\.write", text
    )
