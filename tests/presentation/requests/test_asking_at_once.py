"""Authorize answers with the consent page, and the same address opened again continues its interaction."""

import re
import threading
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db import connection
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from consent.models import Consent
from infra.sealing import SealError
from presentation.models import Interaction, PushedRequest, RelyingParty
from presentation.webhooks.models import WebhookEvent
from tests.presentation.clients import basic, with_secret
from tests.presentation.payloads import FULL, MANDATE
from tests.presentation.requests.authorization_requests import PATH, asked, encoded, fragment
from tests.presentation.requests.deciding import SignIn, decide, url_of_interaction
from tests.presentation.requests.pushing import go, pushed
from tests.presentation.webhooks import opted_in
from wallet.models import Wallet

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("signing_key")]
PAYMENT = {"type": MANDATE, "credential_ids": ["basic"], "payload": FULL[MANDATE]}


def consent_page(response: Any) -> str:
    """The address of the consent page that answers an authorization request."""
    assert response.status_code == 200, response
    return str(response.headers["Content-Location"])


def without_what_differs(page: bytes) -> str:
    text = re.sub('data-seconds="[0-9]+"', "", page.decode())
    return re.sub('name="csrfmiddlewaretoken" value="[^"]+"', "", text)


@pytest.mark.parametrize("language", ["en-gb", "es"])
def test_the_answer_is_the_page_at_its_own_address(
    holder: Client, acme_bank: RelyingParty, language: str
) -> None:
    holder.cookies[django_settings.LANGUAGE_COOKIE_NAME] = language

    at_once = holder.get(PATH, asked(acme_bank))
    later = holder.get(consent_page(at_once))

    assert without_what_differs(at_once.content) == without_what_differs(later.content)
    for name in ("Content-Security-Policy", "Cache-Control", "Referrer-Policy", "Content-Language"):
        assert at_once.headers[name] == later.headers[name]
    assert at_once.headers["Cache-Control"] == "no-store"
    assert at_once.headers["Content-Language"] == language
    assert "form-action" not in at_once.headers["Content-Security-Policy"]


def test_everything_on_the_page_leads_to_its_own_address(holder: Client, acme_bank: RelyingParty) -> None:
    response = holder.get(PATH, asked(acme_bank, state="only-in-the-request"))
    page, path = response.content.decode(), consent_page(response)

    assert f'data-path="{path}"' in page
    assert set(re.findall('name="(?:next|page)" value="([^"]+)"', page)) == {path}
    assert "only-in-the-request" not in page
    assert PATH not in page


def test_one_response_sets_the_cookies_of_browser_and_language(
    holder: Client, acme_bank: RelyingParty
) -> None:
    response = holder.get(PATH, asked(acme_bank, ui_locales="es en"))

    names = {"BROWSER_COOKIE_NAME", "LANGUAGE_COOKIE_NAME"}
    assert set(response.cookies) == {getattr(django_settings, name) for name in names}
    assert response.headers["Content-Language"] == "es"
    assert '<html lang="es"' in response.content.decode()


def test_a_language_that_was_chosen_by_the_person_stays(holder: Client, acme_bank: RelyingParty) -> None:
    holder.cookies[django_settings.LANGUAGE_COOKIE_NAME] = "en-gb"
    response = holder.get(PATH, asked(acme_bank, ui_locales="es"))
    assert response.headers["Content-Language"] == "en-gb"


@pytest.mark.postgresql  # on SQLite the plain way has a statement for each table
def test_two_statements_write_the_question_and_fill_the_page(
    holder: Client, acme_bank: RelyingParty, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    decide_at_once(holder, holder.get(PATH, asked(acme_bank, nonce="the-first-nonce-of-all")))
    with django_assert_num_queries(2):
        response = holder.get(PATH, asked(acme_bank))
    assert "You last shared with" in re.sub("<[^>]+>", "", response.content.decode())


@pytest.mark.postgresql  # on SQLite each row is written by a statement of its own
def test_after_a_push_four_statements_are_a_whole_flow(
    holder: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    bank, secret = with_secret()
    known = (bank, basic(bank.client_id, secret))
    ways = [pushed(holder, known, nonce=f"nonce-of-one-flow-{n}") for n in "12"]
    decide_at_once(holder, go(holder, ways[0], bank))  # opens the status lists
    with django_assert_num_queries(4):
        answer = decide_at_once(holder, go(holder, ways[1], bank))
    assert "vp_token" in fragment(answer.headers["Location"])


def decide_at_once(client: Client, response: Any, decision: str = "share") -> Any:
    """Sends the form of the page that answered the request."""
    found = re.search(r'<form method="post" action="([^"]+/interactions/[^"]+)"', response.content.decode())
    assert found
    return client.post(found[1], {"decision": decision})


# --- What does not answer at once -------------------------------------------------------------------------


def test_a_payment_in_the_address_bar_gets_a_page_of_its_own(holder: Client, acme_bank: RelyingParty) -> None:
    response = holder.get(PATH, asked(acme_bank, transaction_data=encoded(PAYMENT)))
    assert response.status_code == 303
    assert response.headers["Location"].startswith("/consent/")


def test_a_pushed_payment_is_asked_about_at_once(holder: Client) -> None:
    party, secret = with_secret()
    handle = pushed(holder, (party, basic(party.client_id, secret)), transaction_data=encoded(PAYMENT))

    response = go(holder, handle, party)

    assert holder.get(consent_page(response)).status_code == 200
    assert "24.50" in response.content.decode()
    assert "vp_token" in fragment(decide_at_once(holder, response).headers["Location"])


def test_a_payment_after_an_old_sign_in_asks_for_a_factor_first(
    client: Client, alice: Wallet, sign_in: SignIn
) -> None:
    party, secret = with_secret()
    sign_in(alice, ago=timedelta(minutes=20))
    handle = pushed(client, (party, basic(party.client_id, secret)), transaction_data=encoded(PAYMENT))
    response = go(client, handle, party)
    assert response.headers["Location"].startswith("/wallet/")


def test_what_does_not_unseal_leaves_the_page_to_its_own_address(
    holder: Client, acme_bank: RelyingParty, monkeypatch: pytest.MonkeyPatch
) -> None:
    from consent.views import question

    def fails(*_: Any, **__: Any) -> None:
        raise SealError("no key")

    monkeypatch.setattr(question.Question, "of", fails)
    response = holder.get(PATH, asked(acme_bank))
    assert response.status_code == 303
    assert response.headers["Location"].startswith("/consent/")


@pytest.mark.parametrize("purpose", ["prefetch", "prefetch;prerender", "prefetch;anonymous-client-ip"])
def test_a_prefetch_inserts_nothing(holder: Client, acme_bank: RelyingParty, purpose: str) -> None:
    response = holder.get(PATH, asked(acme_bank), headers={"Sec-Purpose": purpose})

    assert (response.status_code, response.headers["Cache-Control"]) == (503, "no-store")
    assert not response.cookies
    assert not Interaction.objects.exists()
    assert not Consent.objects.exists()


def test_a_prefetch_of_any_other_page_changes_nothing(holder: Client, acme_bank: RelyingParty) -> None:
    holder.get(PATH, asked(acme_bank))
    interaction = Interaction.objects.get()
    for path in (url_of_interaction(interaction), f"{url_of_interaction(interaction)}leave/"):
        assert holder.get(path, headers={"Sec-Purpose": "prefetch"}).status_code == 503
    interaction.refresh_from_db()
    assert interaction.outcome == ""


def test_head_inserts_nothing_and_tells_whether_client_and_address_are_registered(
    holder: Client, acme_bank: RelyingParty
) -> None:
    assert holder.head(PATH, asked(acme_bank)).status_code == 200
    assert holder.head(PATH, asked(acme_bank, redirect_uri="https://evil.example/")).status_code == 400
    assert not Interaction.objects.exists()
    assert not Consent.objects.exists()


# --- The same address again -------------------------------------------------------------------------------


def counted() -> tuple[int, int]:
    return Interaction.objects.count(), Consent.objects.count()


def test_the_same_address_again_goes_on_without_new_rows(holder: Client, acme_bank: RelyingParty) -> None:
    page = consent_page(holder.get(PATH, asked(acme_bank)))

    again = holder.get(PATH, asked(acme_bank))

    assert (again.status_code, again.headers["Location"]) == (303, page)
    assert counted() == (1, 1)


def test_before_the_sign_in_it_goes_on_as_well(
    client: Client, alice: Wallet, acme_bank: RelyingParty
) -> None:
    first = client.get(PATH, asked(acme_bank)).headers["Location"]
    assert client.get(PATH, asked(acme_bank)).headers["Location"] == first
    assert counted() == (1, 0)


def test_another_browser_begins_an_interaction_of_its_own(
    holder: Client, alice: Wallet, acme_bank: RelyingParty, sign_in: SignIn
) -> None:
    holder.get(PATH, asked(acme_bank))
    other = Client()
    sign_in(alice, browser=other)
    assert consent_page(other.get(PATH, asked(acme_bank)))
    assert counted() == (2, 2)


@pytest.mark.parametrize("changes", [{"state": "another"}, {"nonce": "another-fresh-nonce"}])
def test_another_request_begins_an_interaction_of_its_own(
    holder: Client, acme_bank: RelyingParty, changes: dict[str, str]
) -> None:
    holder.get(PATH, asked(acme_bank))
    assert consent_page(holder.get(PATH, asked(acme_bank, **changes)))
    assert counted() == (2, 2)


def test_expired_and_unanswered_it_begins_anew(holder: Client, acme_bank: RelyingParty) -> None:
    page = consent_page(holder.get(PATH, asked(acme_bank)))
    Interaction.objects.update(expires_at=timezone.now())
    Consent.objects.update(expires_at=timezone.now())

    again = holder.get(PATH, asked(acme_bank))

    assert consent_page(again) != page
    assert "vp_token" in fragment(decide_at_once(holder, again).headers["Location"])


@pytest.mark.parametrize("decision", ["share", "decline"])
def test_after_the_answer_the_page_says_so_and_nothing_is_sent(
    holder: Client, acme_bank: RelyingParty, decision: str
) -> None:
    decide_at_once(holder, holder.get(PATH, asked(acme_bank)), decision)

    again = holder.get(PATH, asked(acme_bank))

    assert again.status_code == 410
    assert "You have already answered" in again.content.decode()
    assert counted() == (1, 1)


def test_a_pushed_request_goes_on_after_its_minute_and_after_its_answer_says_so(holder: Client) -> None:
    party, secret = with_secret()
    handle = pushed(holder, (party, basic(party.client_id, secret)))
    page = consent_page(go(holder, handle, party))
    PushedRequest.objects.update(expires_at=timezone.now())

    assert go(holder, handle, party).headers["Location"] == page
    answered = holder.post(url_of_interaction(Interaction.objects.get()), {"decision": "share"})
    assert "vp_token" in fragment(answered.headers["Location"])

    again = go(holder, handle, party)
    assert again.status_code == 410
    assert "You have already answered" in again.content.decode()
    assert counted() == (1, 1)


def test_somebody_else_who_signed_in_meanwhile_is_not_shown_the_question(
    holder: Client, bob: Wallet, acme_bank: RelyingParty, sign_in: SignIn
) -> None:
    holder.get(PATH, asked(acme_bank))
    sign_in(bob)

    again = holder.get(PATH, asked(acme_bank))

    assert again.headers["Location"].startswith("/wallet/")
    assert counted() == (1, 1)


def test_a_decision_whose_process_died_is_answered_where_the_same_address_is_opened_again(
    holder: Client, acme_bank: RelyingParty
) -> None:
    decide(holder, consent_page(holder.get(PATH, asked(acme_bank))))
    assert "vp_token" in fragment(holder.get(PATH, asked(acme_bank)).headers["Location"])


def test_a_request_that_cannot_go_on_ends_with_the_error_that_is_sent(
    holder: Client, acme_bank: RelyingParty
) -> None:
    holder.get(PATH, asked(acme_bank))
    RelyingParty.objects.update(allowed_scopes=[])

    answer = fragment(holder.get(PATH, asked(acme_bank)).headers["Location"])

    assert answer["error"] == Interaction.objects.get().error == "invalid_scope"
    assert holder.post(url_of_interaction(), {"decision": "share"}).status_code == 410


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("way", ["in the address", "pushed", "with webhooks"])
def test_a_double_load_is_answered_once(client: Client, alice: Wallet, sign_in: SignIn, way: str) -> None:
    """Two pages of one address that were loaded side by side: the second answer finds the first."""
    party, secret = with_secret()
    address = asked(party)
    if way == "with webhooks":
        opted_in(party)
    if way == "pushed":
        handle = pushed(client, (party, basic(party.client_id, secret)))
        address = {"client_id": party.client_id, "request_uri": handle}
    sign_in(alice)
    first = client.get(PATH, address)
    request_hash = Interaction.objects.get().request_hash
    Interaction.objects.update(request_hash="0" * 64)  # as if the second load had not seen it yet
    second = client.get(PATH, address)
    Interaction.objects.update(request_hash=request_hash)
    Consent.objects.update(request_hash=request_hash)
    assert counted() == (2, 2)

    assert "vp_token" in fragment(decide_at_once(client, second).headers["Location"])
    late = decide_at_once(client, first)

    assert late.status_code == 410
    assert "You have already answered" in late.content.decode()
    assert set(WebhookEvent.objects.values_list("type", flat=True)) <= {WebhookEvent.Type.COMPLETED}


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_loads_of_one_address_at_the_same_moment_give_one_token(
    holder: Client, acme_bank: RelyingParty
) -> None:
    holder.get("/")
    holder.get(PATH, asked(acme_bank, nonce="to-have-the-cookie-of-the-browser"))
    barrier, tokens = threading.Barrier(3), []

    def load() -> None:
        own = Client()
        own.cookies = holder.cookies
        barrier.wait()
        response = own.get(PATH, asked(acme_bank))
        if response.status_code == 303:
            response = own.get(response.headers["Location"])
        barrier.wait()
        answer = decide_at_once(own, response)
        if "vp_token" in answer.headers.get("Location", ""):
            tokens.append(answer)
        connection.close()

    threads: list[threading.Thread] = [threading.Thread(target=load) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(tokens) == 1
    assert Interaction.objects.filter(outcome=Interaction.Outcome.TOKEN).count() == 1


def test_the_log_counts_a_question_as_asked_and_the_same_request_once(
    holder: Client, acme_bank: RelyingParty, logged: list[dict[str, Any]]
) -> None:
    holder.get(PATH, asked(acme_bank))
    holder.get(PATH, asked(acme_bank))
    first, again = [event for event in logged if event["logger"] == "config.middleware"]
    assert (first["first_step"], first["status"]) == ("consent", 200)
    assert again["status"] == 303
    assert not {"first_step", "asked"} & set(again)
