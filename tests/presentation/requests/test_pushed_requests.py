"""Pushed requests: every mistake is reported at once, and a handle is answered once.

The names with hyphens are modules of the OpenID Foundation's suite (`fapi2-security-profile-final-…`).
"""

import json
import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from infra.limits import Limit
from presentation.entrances import pushing
from presentation.models import Interaction, PushedRequest, RelyingParty
from presentation.relying_parties import registration
from presentation.relying_parties.authentication import client_secrets
from presentation.requests.interactions import path_of
from tests.people import ALICE, register
from tests.presentation.clients import (
    FORM,
    access_token,
    assertion,
    basic,
    by_assertion,
    with_key,
    with_secret,
)
from tests.presentation.dcql.queries import query, with_query
from tests.presentation.requests.authorization_requests import (
    BASIC,
    PATH,
    asked,
    encoded,
    fragment,
    session_data,
)
from tests.presentation.requests.deciding import SignIn, another_browser, decide
from tests.presentation.requests.pushing import PAR, go, page_of, pushed, send
from tests.wallet.conftest import together
from wallet.models import Wallet
from wallet.status_lists import upkeep

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("signing_key")]


@pytest.fixture
def bank() -> tuple[RelyingParty, dict[str, str]]:
    """Acme Bank, and the header that authenticates it."""
    party, secret = with_secret()
    return party, basic(party.client_id, secret)


@pytest.fixture
def handle(client: Client, bank: tuple[RelyingParty, dict[str, str]]) -> str:
    """A request of Acme Bank for Alice."""
    return pushed(client, bank)


def refused(response: Any, error: str, status: int = 400) -> str:
    assert (response.status_code, response.json()["error"]) == (status, error), response.content
    assert response.headers["Content-Type"].startswith("application/json")
    assert "no-store" in response.headers["Cache-Control"]
    assert not PushedRequest.objects.exists()
    said: str = response.json()["error_description"]
    return said


def test_a_pushed_request_gives_a_handle_that_leads_to_the_answer(
    holder: Client, bank: tuple[RelyingParty, dict[str, str]]
) -> None:
    party, header = bank

    answer = send(holder, asked(party), **header)
    page = page_of(holder, answer.json()["request_uri"], party)
    home = fragment(holder.get(decide(holder, page)).headers["Location"])

    assert answer.status_code == 201
    assert answer.json().keys() == {"request_uri", "expires_in"}
    assert answer.json()["expires_in"] == 60
    assert answer.json()["request_uri"].startswith("urn:ietf:params:oauth:request_uri:")
    assert len(answer.json()["request_uri"].rpartition(":")[2]) == 43
    assert "no-store" in answer.headers["Cache-Control"]
    assert set(home) == {"vp_token", "state"}


def test_every_way_of_proving_who_one_is_works(client: Client, settings: Any) -> None:
    party, key = with_key()
    secret = client_secrets.rotate(party, now=timezone.now()).text
    proof = assertion(party.client_id, key, issuer=settings.BASE_URL)
    ways: list[tuple[dict[str, str], dict[str, str]]] = [
        ({}, basic(party.client_id, secret)),
        ({"client_secret": secret}, {}),
        (by_assertion(proof), {}),
        ({}, {"Authorization": f"Bearer {access_token(party)}"}),
    ]

    statuses = [send(client, asked(party) | form, **headers).status_code for form, headers in ways]

    assert statuses == [201] * 4


def without(*names: str) -> dict[str, None]:
    return dict.fromkeys(names)


TOO_MUCH = encoded(session_data(payload={"ip_address": "192.0.2.7", "device_id": "d" * 40_000}))
POSTED = {
    "response_mode": "direct_post",
    "response_uri": "https://bank.example/answers",
    "redirect_uri": None,
}
ENCRYPTED = POSTED | {"response_mode": "direct_post.jwt"}
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "par-authorization-request-containing-request_uri-form-param": (
        {"request_uri": "urn:ietf:params:oauth:request_uri:x"},
        "invalid_request",
    ),
    "ensure-registered-redirect-uri": ({"redirect_uri": "https://bank.example/elsewhere"}, "invalid_request"),
    "a published request": ({"request_uri": "https://bank.example/requests/1"}, "invalid_request"),
    "another client's name": ({"client_id": "somebody"}, "invalid_request"),
    "no client_id": (without("client_id"), "invalid_request"),
    "no redirect_uri": (without("redirect_uri"), "invalid_request"),
    "no nonce": (without("nonce"), "invalid_request"),
    "a short nonce": ({"nonce": "short"}, "invalid_request"),
    "no login_hint": (without("login_hint"), "invalid_request"),
    "a login_hint that is no address": ({"login_hint": "Alice"}, "invalid_request"),
    "no response_type": (without("response_type"), "invalid_request"),
    "another response_type": ({"response_type": "code"}, "unsupported_response_type"),
    "an unknown response_mode": ({"response_mode": "query"}, "invalid_request"),
    "neither scope nor query": (without("scope"), "invalid_scope"),
    "an unknown scope": ({"scope": "openid"}, "invalid_scope"),
    "scope and query": ({"dcql_query": "{}"}, "invalid_request"),
    "a query that is none": ({"scope": None, "dcql_query": "{}"}, "invalid_request"),
    "a claim that is not its to ask": (with_query(query({"path": ["birth_date"]})), "unauthorized_client"),
    "a state beyond its limit": ({"state": "s" * 2049}, "invalid_request"),
    "transaction data that is none": ({"transaction_data": "e30"}, "invalid_transaction_data"),
    "transaction data beyond its limit": ({"transaction_data": TOO_MUCH}, "invalid_request"),
    "a request object that is none": ({"request": "x"}, "invalid_request_object"),
    "posted to nowhere": (POSTED | {"response_uri": None}, "invalid_request"),
    "posted to an address that is not registered": (
        POSTED | {"response_uri": "https://bank.example/elsewhere"},
        "invalid_request",
    ),
    "posted to a redirect URI": (
        POSTED | {"response_uri": "https://bank.example/callback"},
        "invalid_request",
    ),
    "posted, and a redirect_uri": (
        POSTED | {"redirect_uri": "https://bank.example/callback"},
        "invalid_request",
    ),
    "posted, and encrypted to nobody": (ENCRYPTED, "invalid_request"),
    "client metadata that is no JSON": (ENCRYPTED | {"client_metadata": "{"}, "invalid_request"),
    "client metadata that is a list": (ENCRYPTED | {"client_metadata": "[]"}, "invalid_request"),
    "client metadata without keys": (ENCRYPTED | {"client_metadata": "{}"}, "invalid_request"),
    "client metadata with no key to encrypt to": (
        ENCRYPTED | {"client_metadata": '{"jwks": {"keys": [{"kty": "EC"}]}}'},
        "invalid_request",
    ),
    "client metadata beyond its limit": (ENCRYPTED | {"client_metadata": "x" * 8193}, "invalid_request"),
}


@pytest.mark.parametrize(("changes", "error"), WRONG.values(), ids=WRONG.keys())
def test_every_mistake_is_reported_as_json_and_nothing_is_stored(
    client: Client, bank: tuple[RelyingParty, dict[str, str]], changes: dict[str, Any], error: str
) -> None:
    party, header = bank
    party.response_uris.create(uri=POSTED["response_uri"])

    description = refused(send(client, asked(party, **changes), **header), error)

    assert description
    assert ALICE not in description


def test_a_client_that_proves_nothing_pushes_nothing(
    client: Client, bank: tuple[RelyingParty, dict[str, str]]
) -> None:
    party, header = bank
    form = asked(party)

    refused(send(client, form), "invalid_client", 401)
    refused(send(client, form, **basic(party.client_id, "wrong")), "invalid_client", 401)
    refused(send(client, form, Authorization="Bearer x.y.z"), "invalid_token", 401)
    refused(send(client, form | {"client_secret": "x"}, **header), "invalid_request")
    bearer = {"Authorization": f"Bearer {access_token(party)}"}
    refused(send(client, form | {"client_secret": "x"}, **bearer), "invalid_request")
    refused(send(client, form | {"access_token": "x"}, **bearer), "invalid_request")
    weak = {"Authorization": f"Bearer {access_token(party, 'presentation:read')}"}
    refused(send(client, form, **weak), "insufficient_scope", 403)


def test_a_proof_is_good_for_one_push(client: Client, settings: Any) -> None:
    party, key = with_key()
    proof = by_assertion(assertion(party.client_id, key, issuer=settings.BASE_URL))

    first, second = (send(client, asked(party, nonce=f"nonce-number-{n:04}") | proof) for n in (1, 2))

    assert (first.status_code, second.status_code) == (201, 401)


@pytest.mark.parametrize(
    "audience", [lambda base: base + PAR, lambda base: [base], lambda base: base + "/oauth/v2/token"]
)
def test_par_test_par_endpoint_url_as_audience_fails_and_so_do_arrays(
    client: Client, settings: Any, audience: Callable[[str], Any]
) -> None:
    party, key = with_key()
    proof = assertion(party.client_id, key, issuer=settings.BASE_URL, aud=audience(settings.BASE_URL))

    refused(send(client, asked(party) | by_assertion(proof)), "invalid_client", 401)


def test_a_suspended_relying_party_pushes_nothing(
    client: Client, bank: tuple[RelyingParty, dict[str, str]]
) -> None:
    party, header = bank
    bearer = {"Authorization": f"Bearer {access_token(party)}"}
    registration.suspend(party, "Complaints")

    refused(send(client, asked(party), **header), "invalid_client", 401)
    refused(send(client, asked(party), **bearer), "invalid_token", 401)


def test_an_access_token_pushes_as_long_as_its_party_may(
    client: Client, bank: tuple[RelyingParty, dict[str, str]]
) -> None:
    party, _header = bank
    bearer = {"Authorization": f"Bearer {access_token(party)}"}
    RelyingParty.objects.update(grants=["presentation:verify"])
    refused(send(client, asked(party), **bearer), "insufficient_scope", 403)
    RelyingParty.objects.update(grants=["presentation:push"])
    assert send(client, asked(party), **bearer).status_code == 201


def test_an_access_token_pushes_for_its_own_client_only(
    client: Client, bank: tuple[RelyingParty, dict[str, str]]
) -> None:
    token = access_token(bank[0])

    form = asked(bank[0], client_id="somebody")

    refused(send(client, form, Authorization=f"Bearer {token}"), "invalid_request")


@pytest.mark.parametrize("method", ["get", "put", "patch", "delete"])
def test_par_attempt_invalid_http_method(client: Client, method: str) -> None:
    response = getattr(client, method)(PAR)

    assert response.status_code == 405
    assert "POST" in response.headers["Allow"]


def test_bodies_that_are_no_form_are_refused(
    client: Client, bank: tuple[RelyingParty, dict[str, str]]
) -> None:
    party, header = bank
    form = urlencode(asked(party))

    refused(send(client, form + "&nonce=another-nonce-altogether", **header), "invalid_request")
    refused(send(client, form + "&x=%ff", **header), "invalid_request")
    refused(send(client, form + "&x=" + "x" * 131_072, **header), "invalid_request", 413)
    body = json.dumps(asked(party))
    refused(client.post(PAR, data=body, content_type="application/json", headers=header), "invalid_request")
    refused(client.post(f"{PAR}?nonce=x", data=form, content_type=FORM, headers=header), "invalid_request")


def test_as_much_as_all_parameters_may_have_can_be_pushed(
    client: Client, bank: tuple[RelyingParty, dict[str, str]]
) -> None:
    large = encoded(session_data(payload={"ip_address": "192.0.2.7", "device_id": "d" * 100}))
    values = " ".join([large] * 10)

    assert pushed(client, bank, transaction_data=values, state="s" * 2048, nonce="n" * 512)


@pytest.mark.usefixtures("windows_just_begun")
def test_too_many_pushes_get_retry_after(
    client: Client, bank: tuple[RelyingParty, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PER_CLIENT_ADDRESS", "PER_RELYING_PARTY"):
        with monkeypatch.context() as changed:
            changed.setattr(pushing, name, Limit(f"few-{name}", most=1, window=timedelta(minutes=1)))
            pushed(client, bank)
            response = send(client, asked(bank[0]), **bank[1])
        assert response.status_code == 429
        assert int(response.headers["Retry-After"]) > 0


# --- The handle -------------------------------------------------------------------------------------------


def test_par_attempt_to_use_request_uri_for_different_client(
    client: Client, handle: str, corner_shop: RelyingParty
) -> None:
    response = go(client, handle, corner_shop)

    assert response.status_code == 400
    assert "Location" not in response.headers
    assert "no handle of this client" in response.content.decode()


def test_par_attempt_to_use_expired_request_uri(
    client: Client, handle: str, bank: tuple[RelyingParty, dict[str, str]]
) -> None:
    PushedRequest.objects.update(expires_at=timezone.now())

    answer = fragment(go(client, handle, bank[0]).headers["Location"])

    assert answer["error"] == "invalid_request_uri"
    assert answer["state"] == "af0ifjsldkj"
    assert not Interaction.objects.exists()


def test_par_ensure_reused_request_uri_prior_to_auth_completion_succeeds(
    holder: Client, handle: str, bank: tuple[RelyingParty, dict[str, str]]
) -> None:
    go(holder, handle, bank[0])

    page = page_of(holder, handle, bank[0])

    assert "vp_token" in fragment(holder.get(decide(holder, page)).headers["Location"])


@pytest.mark.parametrize("decision", ["share", "decline"])
def test_par_attempt_reuse_request_uri(
    holder: Client,
    handle: str,
    bank: tuple[RelyingParty, dict[str, str]],
    alice: Wallet,
    sign_in: SignIn,
    decision: str,
) -> None:
    """In another browser. The browser that answered is told so: `test_asking_at_once`."""
    holder.get(decide(holder, page_of(holder, handle, bank[0]), decision))

    response = go(another_browser(sign_in, alice), handle, bank[0])

    assert response.status_code == 400
    assert "answered already" in response.content.decode()
    assert PushedRequest.objects.get().parameters == {}


@pytest.mark.parametrize("how", ["by one statement", "step by step"])
def test_two_browsers_with_one_handle_get_one_answer(
    holder: Client,
    handle: str,
    bank: tuple[RelyingParty, dict[str, str]],
    alice: Wallet,
    sign_in: SignIn,
    how: str,
) -> None:
    upkeep.keep_open(now=timezone.now())
    other = another_browser(sign_in, alice)
    pages = [page_of(browser, handle, bank[0]) for browser in (holder, other)]
    newest = path_of(Interaction.objects.latest("created_at"))

    holder.get(decide(holder, pages[0], "decline"))
    if how == "by one statement":
        response = other.post(newest, {"decision": "share"})
    else:
        response = other.get(decide(other, pages[1]))

    assert fragment(response.headers["Location"])["error"] == "invalid_request_uri"


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_of_many_browsers_that_race_with_one_handle_one_gets_a_token(
    client: Client, bank: tuple[RelyingParty, dict[str, str]], alice: Wallet, sign_in: SignIn
) -> None:
    handle = pushed(client, bank)
    browsers = [another_browser(sign_in, alice) for _ in range(6)]
    interaction_urls = [decide(browser, page_of(browser, handle, bank[0])) for browser in browsers]

    def answered(number: int) -> dict[str, str]:
        return fragment(browsers[number].get(interaction_urls[number]).headers["Location"])

    answers = together(answered, 6)

    assert sum("vp_token" in answer for answer in answers) == 1
    assert {answer.get("error") for answer in answers} <= {None, "invalid_request_uri", "invalid_request"}


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_of_many_browsers_that_say_yes_at_the_same_moment_one_gets_a_token(
    client: Client, bank: tuple[RelyingParty, dict[str, str]], alice: Wallet, sign_in: SignIn
) -> None:
    """As above, by the statement that stores the yes, closes the interaction and uses up the handle."""
    handle = pushed(client, bank)
    browsers = [another_browser(sign_in, alice) for _ in range(6)]
    for browser in browsers:
        page_of(browser, handle, bank[0])
    interactions = list(Interaction.objects.order_by("created_at"))

    def answered(number: int) -> dict[str, str]:
        response = browsers[number].post(path_of(interactions[number]), {"decision": "share"})
        return fragment(response.headers["Location"])

    answers = together(answered, 6)

    assert sum("vp_token" in answer for answer in answers) == 1
    assert {answer.get("error") for answer in answers} <= {None, "invalid_request_uri", "invalid_request"}
    assert Interaction.objects.filter(outcome=Interaction.Outcome.TOKEN).count() == 1


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_a_yes_and_a_no_that_race_with_one_handle_get_one_answer_to_it(
    client: Client, bank: tuple[RelyingParty, dict[str, str]], alice: Wallet, sign_in: SignIn
) -> None:
    browsers = [another_browser(sign_in, alice) for _ in range(2)]
    for turn in range(4):
        handle = pushed(client, bank, nonce=f"nonce-of-the-race-{turn}")
        interaction_urls = [
            decide(browser, page_of(browser, handle, bank[0]), said)
            for browser, said in zip(browsers, ["share", "decline"], strict=True)
        ]

        def answered(number: int, interaction_urls: list[str] = interaction_urls) -> dict[str, str]:
            return fragment(browsers[number].get(interaction_urls[number]).headers["Location"])

        yes, no = together(answered, 2)

        assert no["error"] == "access_denied"
        assert "vp_token" in yes or yes["error"] == "invalid_request_uri"


def test_what_stands_beside_a_handle_counts_for_nothing(
    holder: Client, handle: str, bank: tuple[RelyingParty, dict[str, str]]
) -> None:
    beside = {"state": "another", "redirect_uri": "https://bank.example/other?lang=en", "scope": "openid"}

    page = page_of(holder, handle, bank[0], **beside, nonce="another-nonce-altogether")
    home = holder.get(decide(holder, page)).headers["Location"]

    assert home.startswith("https://bank.example/callback#")
    assert fragment(home)["state"] == "af0ifjsldkj"


def test_what_is_pushed_is_in_no_address_and_in_no_log(
    holder: Client,
    bank: tuple[RelyingParty, dict[str, str]],
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    payment = encoded(session_data(payload={"ip_address": "203.0.113.99"}))
    handle = pushed(holder, bank, transaction_data=payment)
    addresses = [f"{PATH}?{urlencode({'client_id': bank[0].client_id, 'request_uri': handle})}"]
    addresses.append(page_of(holder, handle, bank[0]))
    addresses.append(decide(holder, addresses[-1]))
    addresses.append(holder.get(addresses[-1]).headers["Location"])

    assert "vp_token" in addresses[-1]
    written = " ".join(addresses[:-1]) + capsys.readouterr().err
    for said in (ALICE, payment, "n-0S6_WzA2Mj"):
        assert said not in written


def test_handles_are_kept_as_digests_only(
    client: Client, handle: str, bank: tuple[RelyingParty, dict[str, str]]
) -> None:
    go(client, handle, bank[0])
    row, interaction = PushedRequest.objects.get(), Interaction.objects.get()

    assert handle.rpartition(":")[2] not in repr((row.__dict__, interaction.__dict__))
    assert ALICE not in f"{row} {row!r}"


def test_a_policy_that_changed_after_the_push_holds(
    client: Client, handle: str, bank: tuple[RelyingParty, dict[str, str]]
) -> None:
    RelyingParty.objects.update(allowed_scopes=[])
    assert fragment(go(client, handle, bank[0]).headers["Location"])["error"] == "invalid_scope"

    RelyingParty.objects.update(allowed_scopes=[BASIC], requires_signed_requests=True)
    assert fragment(go(client, handle, bank[0]).headers["Location"])["error"] == "invalid_request"

    registration.suspend(bank[0], "Complaints")
    assert go(client, handle, bank[0]).status_code == 400


def test_a_relying_party_that_must_push_cannot_ask_otherwise(
    client: Client, bank: tuple[RelyingParty, dict[str, str]]
) -> None:
    RelyingParty.objects.update(requires_pushed_requests=True)

    answer = fragment(client.get(PATH, asked(bank[0])).headers["Location"])

    assert answer["error"] == "invalid_request"
    assert "pushed" in answer["error_description"]
    assert go(client, pushed(client, bank), bank[0]).headers["Location"].startswith("/wallet/")


def test_a_relying_party_that_must_sign_cannot_push_unsigned(
    client: Client, bank: tuple[RelyingParty, dict[str, str]]
) -> None:
    RelyingParty.objects.update(requires_signed_requests=True)

    assert "signed" in refused(send(client, asked(bank[0]), **bank[1]), "invalid_request")


def test_a_nonce_that_gave_a_token_cannot_be_pushed(
    holder: Client, handle: str, bank: tuple[RelyingParty, dict[str, str]]
) -> None:
    holder.get(decide(holder, page_of(holder, handle, bank[0])))
    PushedRequest.objects.all().delete()

    assert "nonce" in refused(send(holder, asked(bank[0]), **bank[1]), "invalid_request")


def test_pushed_requests_are_forgotten_when_nothing_goes_on_with_them(client: Client, handle: str) -> None:
    call_command("clear_expired")
    assert PushedRequest.objects.exists()

    PushedRequest.objects.update(expires_at=timezone.now() - timedelta(minutes=119))
    call_command("clear_expired")
    assert PushedRequest.objects.exists()  # a person may have asked for more time

    PushedRequest.objects.update(expires_at=timezone.now() - timedelta(minutes=121))
    call_command("clear_expired")
    assert not PushedRequest.objects.exists()


@pytest.mark.postgresql  # on SQLite the plain way has a statement for each table
def test_a_request_in_the_address_costs_few_statements(
    holder: Client, acme_bank: RelyingParty, statements: Any
) -> None:
    holder.get(PATH, asked(acme_bank))

    with statements() as counted:
        holder.get(PATH, asked(acme_bank))

    assert len(counted.texts) <= 5


@pytest.mark.postgresql  # on SQLite the plain way has a statement for each table
def test_a_push_costs_few_statements(
    client: Client, bank: tuple[RelyingParty, dict[str, str]], statements: Any
) -> None:
    pushed(client, bank)

    with statements() as counted:
        pushed(client, bank)

    assert len(counted.texts) <= 5


def test_another_relying_party_cannot_answer_in_its_place(client: Client, handle: str) -> None:
    evil = register("Evil", "https://evil.example/callback")

    response = go(client, handle, evil, redirect_uri="https://evil.example/callback")

    assert response.status_code == 400
