"""The decision goes from the consent page straight to the hub, which answers on it in the same request."""

import re
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from consent.models import Consent
from presentation.models import Interaction, RelyingParty
from tests.presentation.requests.test_authorize import fragment
from tests.presentation.requests.test_flow import ask, hub_of
from wallet.models import Credential, HolderSession, Wallet

pytestmark = pytest.mark.usefixtures("signing_key")
SignIn = Callable[..., Any]
ACTION = re.compile(r'<form method="post" action="([^"]+)"')


@pytest.fixture
def hub(client: Client, alice: Wallet, acme_bank: RelyingParty, sign_in: SignIn) -> str:
    """Alice is asked; where the form of her consent page goes."""
    sign_in(alice)
    page = client.get(ask(client, acme_bank)).content.decode()
    (action,) = {action for action in ACTION.findall(page) if "sign-out" not in action}
    return action


def decision() -> str:
    return Consent.objects.get().decision


def test_a_signed_in_holder_needs_three_requests(client: Client, hub: str) -> None:
    answer = client.post(hub, {"decision": "share"})

    assert answer.status_code == 303
    assert set(fragment(answer.headers["Location"])) == {"vp_token", "state"}
    assert answer.headers["Cache-Control"] == "no-store"
    assert decision() == "granted"


def test_both_forms_of_the_page_go_to_the_hub(client: Client, hub: str) -> None:
    assert hub == hub_of()


def test_declining_goes_home_with_access_denied(client: Client, hub: str) -> None:
    answer = client.post(hub, {"decision": "decline"})

    assert fragment(answer.headers["Location"])["error"] == "access_denied"
    assert decision() == "declined"


def test_not_you_signs_out_and_asks_who_it_is(client: Client, hub: str) -> None:
    response = client.post(hub, {"decision": "not_me"})

    assert (response.status_code, response.headers["Location"]) == (303, hub)
    assert not HolderSession.objects.exists()
    assert client.get(hub).headers["Location"].startswith("/wallet/errands/")
    assert decision() == "asked"


def test_sign_out_on_a_page_that_is_closed_leads_to_the_way_back(
    client: Client, hub: str, alice: Wallet
) -> None:
    question = f"/consent/{Consent.objects.get().id}/"
    client.post(hub, {"decision": "share"})
    closed = client.get(question).content.decode()

    (action,) = ACTION.findall(closed)
    signed_out = client.post(action, {"decision": "not_me"})

    assert (signed_out.status_code, signed_out.headers["Location"]) == (303, hub)
    assert not HolderSession.objects.exists()
    assert 'href="https://bank.example/"' in client.get(hub).content.decode()


def test_sign_out_works_in_another_browser_of_the_holder_as_well(
    client: Client, hub: str, alice: Wallet, bob: Wallet, sign_in: SignIn
) -> None:
    other, stranger = Client(), Client()
    sign_in(alice, browser=other)
    sign_in(bob, browser=stranger)

    signed_out = other.post(hub, {"decision": "not_me"})
    refused = stranger.post(hub, {"decision": "not_me"})

    assert (signed_out.status_code, signed_out.headers["Location"]) == (303, hub)
    assert not other.cookies["holder"].value
    assert refused.status_code == 410
    assert "Acme" not in refused.content.decode()
    assert set(HolderSession.objects.values_list("wallet", flat=True)) == {alice.pk, bob.pk}
    assert decision() == "asked"


def test_a_double_click_gets_one_token_and_a_page_that_leads_back(client: Client, hub: str) -> None:
    client.post(hub, {"decision": "share"})
    second = client.post(hub, {"decision": "share"})

    assert second.status_code == 410
    assert 'href="https://bank.example/"' in second.content.decode()


@pytest.mark.parametrize(("first", "words"), [("share", "You said yes to"), ("decline", "You said no to")])
def test_the_other_answer_from_a_second_tab_is_refused_with_a_page(
    client: Client, hub: str, first: str, words: str
) -> None:
    client.post(hub, {"decision": first})
    response = client.post(hub, {"decision": "decline" if first == "share" else "share"})

    assert response.status_code == 409
    assert words in response.content.decode()
    assert response.headers["Cache-Control"] == "no-store"
    assert decision() == {"share": "granted", "decline": "declined"}[first]


def test_a_lapsed_question_shows_the_way_back(client: Client, hub: str) -> None:
    past = timezone.now() - timedelta(seconds=1)
    Interaction.objects.update(expires_at=past)
    Consent.objects.update(expires_at=past)

    response = client.post(hub, {"decision": "share"})

    assert response.status_code == 410
    assert "This request has expired" in response.content.decode()
    assert decision() == "asked"


def test_another_wallet_in_this_browser_decides_nothing(
    client: Client, hub: str, bob: Wallet, sign_in: SignIn
) -> None:
    sign_in(bob)

    response = client.post(hub, {"decision": "share"})

    assert response.status_code == 410
    for private in ("Acme", "Alice", "alice@"):
        assert private not in response.content.decode()
    assert decision() == "asked"


def test_who_is_not_signed_in_any_more_is_sent_to_sign_in(client: Client, hub: str) -> None:
    HolderSession.objects.all().delete()

    response = client.post(hub, {"decision": "share"})

    assert response.headers["Location"].startswith("/wallet/errands/")
    assert decision() == "asked"


def test_another_browser_of_the_holder_decides_nothing(
    client: Client, hub: str, alice: Wallet, sign_in: SignIn
) -> None:
    stranger = Client()
    sign_in(alice, browser=stranger)

    assert stranger.post(hub, {"decision": "share"}).status_code == 410
    assert decision() == "asked"


def test_before_anybody_was_asked_there_is_nothing_to_decide(
    client: Client, alice: Wallet, acme_bank: RelyingParty, sign_in: SignIn
) -> None:
    ask(client, acme_bank)
    sign_in(alice)

    response = client.post(hub_of(), {"decision": "share"})

    assert response.headers["Location"].startswith("/consent/")
    assert decision() == "asked"


def test_a_yes_without_a_valid_credential_goes_on_to_verification(client: Client, hub: str) -> None:
    Credential.objects.update(state=Credential.State.REVOKED)

    assert client.post(hub, {"decision": "share"}).headers["Location"].endswith("/identity/")


@pytest.mark.parametrize("choice", [None, "", "granted", "SHARE"])
def test_an_unknown_decision_decides_nothing(client: Client, hub: str, choice: str | None) -> None:
    assert client.post(hub, {} if choice is None else {"decision": choice}).status_code == 400
    assert decision() == "asked"


def test_a_form_without_its_token_decides_nothing(client: Client, hub: str) -> None:
    client.handler.enforce_csrf_checks = True

    assert client.post(hub, {"decision": "share"}).status_code == 403
    assert decision() == "asked"


def test_a_decision_rotates_the_csrf_token_so_that_back_cannot_revive_the_page(
    client: Client, hub: str
) -> None:
    client.handler.enforce_csrf_checks = True
    before = client.cookies["csrf"].value

    answer = client.post(hub, {"decision": "share", "csrfmiddlewaretoken": before})

    assert "vp_token" in fragment(answer.headers["Location"])
    assert answer.cookies["csrf"].value != before


@pytest.mark.parametrize("method", ["put", "delete", "patch"])
def test_the_hub_takes_only_get_and_post(client: Client, hub: str, method: str) -> None:
    response = getattr(client, method)(hub)

    assert (response.status_code, response.headers["Allow"]) == (405, "GET, POST")


def test_statements_of_the_happy_path_stay_within_their_numbers(
    client: Client, alice: Wallet, acme_bank: RelyingParty, sign_in: SignIn, statements: Any
) -> None:
    sign_in(alice)
    ask(client, acme_bank, nonce="warms-up-what-is-cached")
    client.post(hub_of(), {"decision": "share"})

    with statements() as authorizing:
        page = ask(client, acme_bank)
    with statements() as asking:
        client.get(page)
    hub = hub_of(Interaction.objects.get(outcome=""))
    with statements() as answering:
        client.post(hub, {"decision": "share"})

    assert len(authorizing.texts) <= 4, authorizing.texts
    assert len(asking.texts) <= 3, asking.texts
    assert len(answering.texts) <= 5, answering.texts


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("choices", [["share"] * 8, ["share", "decline"] * 4])
def test_racing_decisions_get_one_answer(client: Client, hub: str, choices: list[str]) -> None:
    barrier, answers = threading.Barrier(len(choices)), []

    def send(choice: str) -> None:
        racer = Client()
        racer.cookies = client.cookies.copy()
        barrier.wait()
        answers.append((racer.post(hub, {"decision": choice}), choice))
        connection.close()

    threads = [threading.Thread(target=send, args=[choice]) for choice in choices]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    ((home, choice),) = [pair for pair in answers if pair[0].status_code == 303]
    assert ("vp_token" in fragment(home.headers["Location"])) == (choice == "share")
    assert decision() == {"share": "granted", "decline": "declined"}[choice]
    assert {answer.status_code for answer, _ in answers} <= {303, 409, 410}
