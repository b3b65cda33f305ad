"""The holder for tests: the responses that a browser would get, for every persona and decision."""

import json
import threading
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import Mock
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.utils import timezone

from consent.models import Consent
from infra.limits import LimitReachedError, take
from presentation.models import Interaction, RelyingParty
from presentation.relying_parties import registration
from presentation.requests import interactions
from presentation.requests.receiving import signed_requests
from sandbox.holder import driving as holder
from sandbox.identity_provider.personas import OUTCOMES
from tests.people import ALICE, register
from tests.presentation.clients import FORM, basic, with_secret
from tests.presentation.dcql.queries import disclosed, query
from tests.presentation.openid_connect.shop import Shop
from tests.presentation.requests.authorization_requests import PATH, asked, encoded
from tests.receiver import listening
from tests.relying_party import RelyingParty as Application
from tests.relying_party import read_jwt
from tests.sandbox.holder_calls import HOLDER, authorize_url, call
from tests.wallet.conftest import together
from wallet.models import HolderSession, IdentityVerification, Wallet
from wallet.sign_in import allowances

pytestmark = [pytest.mark.usefixtures("signing_key"), pytest.mark.slow]


def fragment_of(response: Any) -> dict[str, str]:
    assert response.status_code == 200, response.content
    return dict(parse_qsl(urlsplit(response.json()["redirect_to"]).fragment, strict_parsing=True))


def test_the_redirect_carries_a_token_that_a_relying_application_verifies(service: Any) -> None:
    party = register("My Shop", "http://127.0.0.1:5000/callback")
    application = Application(party.client_id, "http://127.0.0.1:5000/callback", service.url)
    response = call(application.authorize_url(login_hint="someone@example.org"))

    claims = application.verify(application.read(response.json()["redirect_to"]))

    assert claims["given_name"] == "Alice"
    assert claims["age_equal_or_over"] == {"18": True}
    assert response.headers["Cache-Control"] == "no-store"


APPROVED = ["adult", "under-18", "turns-18-tomorrow", "non-latin", "one-word", "year-of-birth"]
APPROVED += ["long-name", "resubmit", "result-first"]


@pytest.mark.parametrize("persona", OUTCOMES)
def test_every_persona_ends_at_the_relying_application(acme_bank: RelyingParty, persona: str) -> None:
    answer = fragment_of(call(authorize_url(acme_bank), persona=persona))

    expected = {"vp_token"} if persona in APPROVED else {"error", "error_description", "iss"}
    assert set(answer) == expected | {"state"}
    assert answer.get("error", "access_denied") == "access_denied"


def test_a_no_comes_back_as_a_no_and_is_written_down(acme_bank: RelyingParty) -> None:
    answer = fragment_of(call(authorize_url(acme_bank), decision="decline"))

    assert answer["error"] == "access_denied"
    assert Consent.objects.get().decision == Consent.Decision.DECLINED


def test_one_address_may_be_one_persona_after_the_other(acme_bank: RelyingParty) -> None:
    order = ["adult", "declined", "adult", "review", "under-18", "slow", "error", "adult"]
    answers = []
    for number, persona in enumerate(order):
        url = authorize_url(acme_bank, nonce=f"nonce-number-{number:010}")
        answers.append("vp_token" in fragment_of(call(url, persona=persona)))

    assert answers == [persona in APPROVED for persona in order]


def test_the_same_persona_again_needs_no_second_check(acme_bank: RelyingParty) -> None:
    for number in range(3):
        fragment_of(call(authorize_url(acme_bank, nonce=f"nonce-number-{number:010}")))

    assert IdentityVerification.objects.count() == 1


def test_a_request_without_login_hint_is_answered_by_the_persona(acme_bank: RelyingParty) -> None:
    RelyingParty.objects.update(may_omit_login_hint=True)
    persona = next(iter(OUTCOMES))

    answer = call(authorize_url(acme_bank, login_hint=None), persona=persona).json()

    assert "#vp_token=" in answer["redirect_to"]
    assert Wallet.objects.get().email == f"{persona}@{holder.OWN_DOMAIN}"


def test_a_demanded_passkey_is_used(db: None) -> None:
    """The persona has a passkey where the request demands one, as the `acr` of the ID token then says."""
    shop = Shop.registered()
    demanded = {"id_token": {"acr": {"essential": True, "values": ["phr"]}}}
    address = f"{settings.BASE_URL}{PATH}?{urlencode(shop.asks(claims=demanded))}"
    answer = dict(parse_qsl(urlsplit(call(address).json()["redirect_to"]).query))
    tokens = shop.redeems(Client(), answer["code"]).json()
    assert read_jwt(tokens["id_token"]).payload["acr"] == "phr"


def test_a_payment_is_approved_with_a_fresh_sign_in(acme_bank: RelyingParty) -> None:
    payload = {"currency": "EUR", "items": [{"quantity": 1, "unit_cost": 12.5, "label": "Tea"}]}
    kind = "urn:service:params:vc:transaction-data:payment-itemized:v1"
    value = encoded({"type": kind, "credential_ids": ["basic"], "payload": payload})

    answer = fragment_of(call(authorize_url(acme_bank, transaction_data=value)))

    assert "vp_token" in answer
    assert Consent.objects.get().transactions


def test_a_pushed_request_is_opened_by_its_handle(db: None) -> None:
    bank, secret = with_secret()
    pushed = Client().post(
        f"{PATH.rpartition('/')[0]}/par",
        urlencode(asked(bank)),
        content_type=FORM,
        headers=basic(bank.client_id, secret),
    )
    query = urlencode({"client_id": bank.client_id, "request_uri": pushed.json()["request_uri"]})

    answers = [call(f"{settings.BASE_URL}{PATH}?{query}").json() for _ in range(2)]

    assert "#vp_token=" in answers[0]["redirect_to"]
    assert answers[1]["redirect_to"] is None


UNANSWERABLE: dict[str, dict[str, Any]] = {
    "values that do not match": {"claims": [{"path": ["given_name"], "values": ["Mallory"]}]},
    "another type of credential": {"meta": {"vct_values": ["https://elsewhere.example/licence"]}},
    "an authority that is not ours": {"trusted_authorities": [{"type": "aki", "values": ["AAAA"]}]},
    "a required set that cannot be met": {},
}


@pytest.mark.parametrize("decision", ["share", "decline"])
@pytest.mark.parametrize("changes", UNANSWERABLE.values(), ids=UNANSWERABLE)
@pytest.mark.parametrize("persona", ["adult", "declined"])
def test_a_request_that_the_wallet_cannot_match_comes_back_as_it_would_from_a_person(
    acme_bank: RelyingParty, changes: dict[str, Any], decision: str, persona: str
) -> None:
    """The page for a holder without a matching credential has one button, back to the application."""
    asked_for = {"credentials": [query(id="basic", **changes)]}
    if not changes:
        licence = {"id": "licence", "format": "mso_mdoc", "meta": {"doctype_value": "org.iso.18013.5.1.mDL"}}
        asked_for = {
            "credentials": [query(id="basic"), licence],
            "credential_sets": [{"options": [["licence"]]}],
        }
    url = authorize_url(acme_bank, scope=None, dcql_query=json.dumps(asked_for))

    response = call(url, persona=persona, decision=decision)

    assert fragment_of(response)["error"] == "access_denied"
    assert response.json()["redirect_to"].startswith("https://bank.example/callback#")
    assert not Consent.objects.exists()


def test_a_wrong_request_comes_back_with_its_error(acme_bank: RelyingParty) -> None:
    answer = fragment_of(call(authorize_url(acme_bank, nonce="short")))

    assert answer["error"] == "invalid_request"
    assert "nonce" in answer["error_description"]


def test_a_nonce_that_gave_a_token_is_refused_as_in_a_browser(acme_bank: RelyingParty) -> None:
    first, second = (fragment_of(call(authorize_url(acme_bank))) for _ in range(2))

    assert "vp_token" in first
    assert second["error"] == "invalid_request"


@pytest.mark.parametrize(
    "changes", [{"client_id": "unknown"}, {"redirect_uri": "https://elsewhere.example/"}]
)
def test_a_page_without_a_redirect_is_returned_with_its_text(
    acme_bank: RelyingParty, changes: dict[str, str]
) -> None:
    response = call(authorize_url(acme_bank, **changes))

    assert response.status_code == 200
    assert response.json()["redirect_to"] is None
    page = response.json()["page"]
    assert (page["status"], page["heading"]) == (400, "We cannot go on with this request")
    assert next(iter(changes)) in page["text"]


def test_a_suspended_relying_party_gets_a_page(acme_bank: RelyingParty) -> None:
    registration.suspend(acme_bank, "complaints")

    assert call(authorize_url(acme_bank)).json()["page"]["status"] == 400


def test_the_holder_of_a_suspended_wallet_gives_up(acme_bank: RelyingParty) -> None:
    Wallet.objects.create(
        email="alice@example.org", state="suspended", suspension_reason="fraud", created_at=timezone.now()
    )

    assert fragment_of(call(authorize_url(acme_bank)))["error"] == "access_denied"


def test_no_session_is_left_behind_and_the_callers_cookies_are_not_looked_at(acme_bank: RelyingParty) -> None:
    response = call(authorize_url(acme_bank))

    assert not response.cookies
    assert not HolderSession.objects.exists()


def test_the_limits_of_sign_in_do_not_stop_tests(acme_bank: RelyingParty) -> None:
    now = timezone.now()
    for limit in (allowances.CODES_PER_CLIENT, interactions.UNAUTHENTICATED):
        for _ in range(limit.most):
            limit.take("127.0.0.1", now=now)

    for number in range(allowances.CODES_PER_EMAIL_AND_CLIENT.most + 2):
        fragment_of(call(authorize_url(acme_bank, nonce=f"nonce-number-{number:010}")))


@pytest.mark.usefixtures("windows_just_begun")
def test_a_client_with_too_many_calls_has_to_wait(
    acme_bank: RelyingParty, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(holder, "CALLS_PER_CLIENT", replace(holder.CALLS_PER_CLIENT, most=1))
    call(authorize_url(acme_bank))
    refused = call(authorize_url(acme_bank))

    assert refused.status_code == 429
    assert int(refused.headers["Retry-After"]) > 0
    assert refused.json()["error_description"].startswith("Too many requests.")


def test_a_call_whose_turn_does_not_come_says_so_and_the_next_one_has_it(
    acme_bank: RelyingParty, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(holder, "LONGEST_WAIT", 0.0)
    now = timezone.now()
    holder.LEASE.take(ALICE, now=now)

    busy = call(authorize_url(acme_bank))
    other = call(authorize_url(acme_bank, login_hint="bob@example.org", nonce="another-nonce-123456"))
    holder.LEASE.give_back(ALICE, taken_at=now)

    assert busy.status_code == 503
    assert "Use another for each test." in busy.json()["error_description"]
    assert "vp_token" in fragment_of(other)
    assert "vp_token" in fragment_of(call(authorize_url(acme_bank)))


def test_a_call_that_breaks_gives_its_turn_back(
    acme_bank: RelyingParty, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = authorize_url(acme_bank)
    with monkeypatch.context() as broken:
        broken.setattr(holder, "appear", lambda *args, **facts: 1 / 0)
        assert call(url).status_code == 500

    assert "vp_token" in fragment_of(call(authorize_url(acme_bank)))


# --- Invalid calls ----------------------------------------------------------------------------------------


def test_the_sentence_is_sent_and_nothing_has_changed(acme_bank: RelyingParty) -> None:
    response = call(authorize_url(acme_bank), persona="king")

    assert response.status_code == 400
    assert response.json() == {
        "error": "invalid_request",
        "error_description": f"persona must be one of {', '.join(OUTCOMES)}.",
    }
    assert not Interaction.objects.exists()


def test_a_body_that_is_too_long_is_not_read(db: None) -> None:
    response = Client().post(HOLDER, b" " * 20_000, content_type="application/json")

    assert response.json()["error_description"] == "The body must have at most 16384 bytes."


def test_only_json_is_read_so_that_no_other_page_can_send_a_form_here(acme_bank: RelyingParty) -> None:
    body = json.dumps({"authorize_url": authorize_url(acme_bank)})

    response = Client().post(HOLDER, body, content_type="text/plain")

    assert response.status_code == 400
    assert not Interaction.objects.exists()


def test_it_is_asked_by_post_only(db: None) -> None:
    assert Client().get(HOLDER).status_code == 405


# --- Concurrent calls---------------------------------------------------------------------------------------


def test_a_call_has_its_person_for_itself_whatever_the_clock_says(db: None) -> None:
    """A lease of a fixed window of ten minutes would be free again at its end."""
    begun = datetime(2026, 3, 1, 12, 9, 59, tzinfo=UTC)
    for later in (timedelta(seconds=2), holder.LEASE.window - timedelta(seconds=1)):
        with ExitStack() as leaving:
            take(holder.LEASE, ALICE, now=begun, taken=leaving)
            with pytest.raises(LimitReachedError):
                holder.LEASE.take(ALICE, now=begun + later)
    take(holder.LEASE, ALICE, now=begun, taken=ExitStack())  # of a process that was killed
    holder.LEASE.take(ALICE, now=begun + holder.LEASE.window)


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_many_holders_with_one_address_and_two_personas_do_not_disturb_each_other(signing_key: Any) -> None:
    bank = register("Acme Bank", "https://bank.example/callback")
    personas = ["adult", "under-18", "declined", "adult"] * 3
    answers: list[tuple[str, bool]] = []

    def ask(number: int, persona: str) -> None:
        try:
            url = authorize_url(bank, nonce=f"nonce-number-{number:010}")
            response = call(url, persona=persona)
            while response.status_code == 503:  # one call waits, and the others are repeated
                assert response.headers["Retry-After"] == "1"
                time.sleep(0.05)
                response = call(url, persona=persona)
            answers.append((persona, "vp_token" in fragment_of(response)))
        finally:
            connection.close()

    threads = [threading.Thread(target=ask, args=pair) for pair in enumerate(personas)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert Counter(answers) == {("adult", True): 6, ("under-18", True): 3, ("declined", False): 3}


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("web_threads", "refused"), [(32, 0), (4, None)])
def test_sixteen_calls_for_one_person_are_answered_one_after_the_other(
    settings: Any, monkeypatch: pytest.MonkeyPatch, web_threads: int, refused: int | None
) -> None:
    """With few threads some calls cannot wait here; they are told so at once, and are sent again."""
    monkeypatch.setattr(holder, "LONGEST_WAIT", 120.0)  # the last one waits for all others
    settings.WEB_THREADS = web_threads
    bank = register("Acme Bank", "https://bank.example/callback")

    def ask(number: int) -> list[int]:
        url, statuses = authorize_url(bank, nonce=f"nonce-number-{number:010}"), []
        while not statuses or statuses[-1] == 503:
            response = call(url)
            statuses.append(response.status_code)
        assert "vp_token" in fragment_of(response)
        return statuses

    answers = together(ask, 16)

    assert [statuses[-1] for statuses in answers] == [200] * 16
    assert refused is None or sum(statuses.count(503) for statuses in answers) == refused
    assert not holder._queued


def test_a_call_that_waits_for_its_turn_keeps_no_other_from_fetching_a_request(
    acme_bank: RelyingParty, settings: Any
) -> None:
    with holder._place_in_queue(), listening() as receiver:
        prefix = receiver.uri.rpartition("/")[0] + "/"
        RelyingParty.objects.filter(pk=acme_bank.pk).update(request_uri_prefix=prefix)
        asked_for = urlencode({"client_id": acme_bank.client_id, "request_uri": prefix + "request"})
        assert call(f"{settings.BASE_URL}{PATH}?{asked_for}").status_code == 200


def test_answers_that_are_posted_end_where_the_application_says_or_on_our_page(
    transactional_db: None, acme_bank: RelyingParty
) -> None:
    direct = {"response_mode": "direct_post", "redirect_uri": None}
    with listening() as receiver:
        acme_bank.response_uris.create(uri=receiver.uri)
        stays = call(authorize_url(acme_bank, response_uri=receiver.uri, **direct)).json()
        receiver.redirects_to("https://bank.example/welcome")
        url = authorize_url(acme_bank, response_uri=receiver.uri, nonce="another-nonce-altogether", **direct)
        goes = call(url, decision="decline").json()

    assert (stays["redirect_to"], stays["page"]["heading"]) == (None, "Done")
    assert goes == {"redirect_to": "https://bank.example/welcome#"}
    assert [posted.body.partition("=")[0] for posted in receiver.posted] == ["vp_token", "error"]


def test_a_posted_refusal_of_what_the_wallet_does_not_hold_ends_where_the_application_says(
    transactional_db: None, acme_bank: RelyingParty
) -> None:
    asked_for = {"credentials": [query({"path": ["given_name"], "values": ["Mallory"]}, id="basic")]}
    with listening() as receiver:
        acme_bank.response_uris.create(uri=receiver.uri)
        receiver.redirects_to("https://bank.example/welcome")
        direct = {"response_mode": "direct_post", "redirect_uri": None, "response_uri": receiver.uri}
        url = authorize_url(acme_bank, scope=None, dcql_query=json.dumps(asked_for), **direct)
        ending = call(url).json()

    assert ending == {"redirect_to": "https://bank.example/welcome#"}
    assert dict(parse_qsl(receiver.posted[0].body))["error"] == "access_denied"


def test_a_call_whose_signed_request_is_fetched_waits_only_when_no_other_call_does(
    acme_bank: RelyingParty, settings: Any
) -> None:
    with listening() as receiver:
        prefix = receiver.uri.rpartition("/")[0] + "/"
        RelyingParty.objects.filter(pk=acme_bank.pk).update(request_uri_prefix=prefix)
        asked_for = urlencode({"client_id": acme_bank.client_id, "request_uri": prefix + "request"})
        url = f"{settings.BASE_URL}{PATH}?{asked_for}"
        held = threading.Event()
        released = threading.Event()

        def hold() -> None:
            with holder._waiting.held():
                held.set()
                released.wait(10)

        first = threading.Thread(target=hold)
        first.start()
        assert held.wait(10)
        response = call(url)
        released.set()
        first.join()

    assert (response.status_code, response.headers["Retry-After"]) == (503, "1")
    assert "Another call is already waiting." in response.json()["error_description"]
    assert call(url).status_code == 200


def test_signed_requests_are_counted_by_the_address_of_the_caller(
    acme_bank: RelyingParty, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    RelyingParty.objects.filter(pk=acme_bank.pk).update(request_uri_prefix="http://127.0.0.1:9/")
    counted: list[str] = []
    monkeypatch.setattr(signed_requests, "FETCHES", Mock(take=lambda client, now: counted.append(client)))
    asked_for = urlencode({"client_id": acme_bank.client_id, "request_uri": "http://127.0.0.1:9/request"})

    call(f"{settings.BASE_URL}{PATH}?{asked_for}")

    assert counted == ["127.0.0.1"]


IDENTITY = "urn:service:params:scope:verifiable-credentials:identity"


@pytest.mark.parametrize("optional", [[], ["nationalities"]])
def test_the_holder_switches_on_the_optional_claims_that_the_call_names(
    acme_bank: RelyingParty, optional: list[str]
) -> None:
    acme_bank.allowed_scopes = [IDENTITY]
    acme_bank.save()

    token = fragment_of(call(authorize_url(acme_bank, scope=IDENTITY), optional=optional))["vp_token"]

    assert disclosed(token) == {"birth_date", *optional}


@pytest.mark.parametrize("optional", ["nationalities", [1], ["shoe_size"], [["nationalities"]], None])
def test_a_call_whose_optional_claims_are_no_list_of_claims_is_refused(
    acme_bank: RelyingParty, optional: Any
) -> None:
    assert call(authorize_url(acme_bank), optional=optional).status_code == 400


def test_a_claim_that_the_request_does_not_offer_as_optional_ends_on_a_page(acme_bank: RelyingParty) -> None:
    answer = call(authorize_url(acme_bank), optional=["birth_date"]).json()

    assert answer["redirect_to"] is None
    assert answer["page"]["status"] == 400
    assert Consent.objects.get().decision == Consent.Decision.ASKED
