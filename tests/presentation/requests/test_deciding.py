"""The consent page submits the decision to the interaction, which sends the answer in the same request."""

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
from tests.presentation.requests.authorization_requests import PATH, asked, fragment
from tests.presentation.requests.deciding import ACTION, action_in, ask, url_of_interaction
from wallet.models import Credential, HolderSession, Wallet

pytestmark = pytest.mark.usefixtures("signing_key")
SignIn = Callable[..., Any]


@pytest.fixture
def interaction_url(client: Client, alice: Wallet, acme_bank: RelyingParty, sign_in: SignIn) -> str:
    """Alice is asked for consent; returns the address to which her form is submitted."""
    sign_in(alice)
    return action_in(client.get(PATH, asked(acme_bank)).content.decode())


def decision() -> str:
    return Consent.objects.get().decision


def test_every_form_to_the_interaction_names_the_page_of_its_question(
    client: Client, alice: Wallet, acme_bank: RelyingParty, sign_in: SignIn
) -> None:
    """Otherwise an old page could decide a question that its holder never saw."""
    sign_in(alice)
    address = ask(client, acme_bank)
    pages = (client.get(PATH, asked(acme_bank, nonce="another-fresh-nonce")), client.get(address))

    for page, consent in zip(pages, Consent.objects.order_by("-asked_at"), strict=True):
        html = page.content.decode()
        forms = [form for form in html.split("<form ")[1:] if f'action="{consent.return_to}"' in form]
        assert len(forms) >= 3
        for form in forms:
            own = f'<input type="hidden" name="page" value="/consent/{consent.id}/">'
            assert own in form.partition("</form>")[0]


@pytest.mark.parametrize(("chosen", "stored"), [("share", "granted"), ("decline", "declined")])
def test_a_form_without_its_page_decides_the_question_of_the_signed_in_holder(
    client: Client, interaction_url: str, chosen: str, stored: str
) -> None:
    assert client.post(interaction_url, {"decision": chosen}).status_code == 303
    assert decision() == stored


@pytest.mark.parametrize("chosen", ["share", "decline", "code"])
def test_a_form_without_its_page_decides_nothing_for_another_holder(
    client: Client, interaction_url: str, bob: Wallet, sign_in: SignIn, chosen: str
) -> None:
    sign_in(bob)

    response = client.post(interaction_url, {"decision": chosen})

    assert "Location" not in response.headers or "vp_token" not in response.headers["Location"]
    assert decision() == "asked"


@pytest.mark.parametrize("page", ["", "/", "/consent/", "/consent/0190aaaa-0000-7000-8000-000000000000/"])
@pytest.mark.parametrize("chosen", ["share", "decline", "code", "not_me"])
def test_a_form_of_another_page_decides_nothing_and_leads_to_the_question(
    client: Client, interaction_url: str, chosen: str, page: str
) -> None:
    response = client.post(interaction_url, {"decision": chosen, "page": page})

    assert (response.status_code, response.headers["Location"]) == (303, interaction_url)
    assert (decision(), HolderSession.objects.count()) == ("asked", 1)


def test_a_signed_in_holder_needs_two_requests(client: Client, interaction_url: str) -> None:
    answer = client.post(interaction_url, {"decision": "share"})

    assert answer.status_code == 303
    assert set(fragment(answer.headers["Location"])) == {"vp_token", "state"}
    assert answer.headers["Cache-Control"] == "no-store"
    assert decision() == "granted"


def test_not_you_signs_out_and_asks_who_it_is(client: Client, interaction_url: str) -> None:
    response = client.post(interaction_url, {"decision": "not_me"})

    assert (response.status_code, response.headers["Location"]) == (303, f"{interaction_url}?not_me=1")
    assert not HolderSession.objects.exists()
    assert client.get(interaction_url).headers["Location"].startswith("/wallet/errands/")
    assert decision() == "asked"


def test_sign_out_on_a_page_that_is_closed_leads_to_the_way_back(
    client: Client, interaction_url: str
) -> None:
    question = f"/consent/{Consent.objects.get().id}/"
    client.post(interaction_url, {"decision": "share"})
    closed = client.get(question).content.decode()

    (action,) = set(ACTION.findall(closed)) - {"/language/"}
    signed_out = client.post(action, {"decision": "not_me"})

    assert (signed_out.status_code, signed_out.headers["Location"]) == (303, f"{interaction_url}?not_me=1")
    assert not HolderSession.objects.exists()
    assert 'href="https://bank.example/"' in client.get(interaction_url).content.decode()


def test_sign_out_works_in_another_browser_of_the_holder_as_well(
    interaction_url: str, alice: Wallet, bob: Wallet, sign_in: SignIn
) -> None:
    other, stranger = Client(), Client()
    sign_in(alice, browser=other)
    sign_in(bob, browser=stranger)

    signed_out = other.post(interaction_url, {"decision": "not_me"})
    refused = stranger.post(interaction_url, {"decision": "not_me"})

    assert (signed_out.status_code, signed_out.headers["Location"]) == (303, f"{interaction_url}?not_me=1")
    assert not other.cookies["holder"].value
    assert refused.status_code == 410
    assert "Acme" not in refused.content.decode()
    assert set(HolderSession.objects.values_list("wallet", flat=True)) == {alice.pk, bob.pk}
    assert decision() == "asked"


def test_a_double_click_gets_one_token_and_a_page_that_leads_back(
    client: Client, interaction_url: str
) -> None:
    client.post(interaction_url, {"decision": "share"})
    second = client.post(interaction_url, {"decision": "share"})

    assert second.status_code == 410
    assert 'href="https://bank.example/"' in second.content.decode()


@pytest.mark.parametrize(("first", "words"), [("share", "You said yes to"), ("decline", "You said no to")])
def test_the_other_answer_from_a_second_tab_is_refused_with_a_page(
    client: Client, interaction_url: str, first: str, words: str
) -> None:
    client.post(interaction_url, {"decision": first})
    response = client.post(interaction_url, {"decision": "decline" if first == "share" else "share"})

    assert response.status_code == 410
    assert words in response.content.decode()
    assert 'href="https://bank.example/"' in response.content.decode()
    assert response.headers["Cache-Control"] == "no-store"
    assert decision() == {"share": "granted", "decline": "declined"}[first]


def test_an_expired_consent_shows_the_link_back(client: Client, interaction_url: str) -> None:
    past = timezone.now() - timedelta(seconds=1)
    Interaction.objects.update(expires_at=past)
    Consent.objects.update(expires_at=past)

    response = client.post(interaction_url, {"decision": "share"})

    assert response.status_code == 410
    assert "This request has expired" in response.content.decode()
    assert decision() == "asked"


def test_another_wallet_in_this_browser_decides_nothing(
    client: Client, interaction_url: str, bob: Wallet, sign_in: SignIn
) -> None:
    sign_in(bob)

    response = client.post(interaction_url, {"decision": "share"})

    assert response.status_code == 410
    for private in ("Acme", "Alice", "alice@"):
        assert private not in response.content.decode()
    assert decision() == "asked"


def test_who_is_not_signed_in_any_more_is_sent_to_sign_in(client: Client, interaction_url: str) -> None:
    HolderSession.objects.all().delete()

    response = client.post(interaction_url, {"decision": "share"})

    assert response.headers["Location"].startswith("/wallet/errands/")
    assert decision() == "asked"


def test_another_browser_of_the_holder_decides_nothing(
    interaction_url: str, alice: Wallet, sign_in: SignIn
) -> None:
    stranger = Client()
    sign_in(alice, browser=stranger)

    assert stranger.post(interaction_url, {"decision": "share"}).status_code == 410
    assert decision() == "asked"


def test_without_a_consent_there_is_nothing_to_decide(
    client: Client, alice: Wallet, acme_bank: RelyingParty, sign_in: SignIn
) -> None:
    ask(client, acme_bank)
    sign_in(alice)

    response = client.post(url_of_interaction(), {"decision": "share"})

    assert response.headers["Location"].startswith("/consent/")
    assert decision() == "asked"


def test_a_yes_without_a_valid_credential_goes_on_to_verification(
    client: Client, interaction_url: str
) -> None:
    Credential.objects.update(state=Credential.State.REVOKED)

    assert client.post(interaction_url, {"decision": "share"}).headers["Location"].endswith("/identity/")


@pytest.mark.parametrize("choice", [None, "", "granted", "SHARE"])
def test_an_unknown_decision_decides_nothing(
    client: Client, interaction_url: str, choice: str | None
) -> None:
    assert client.post(interaction_url, {} if choice is None else {"decision": choice}).status_code == 400
    assert decision() == "asked"


def test_a_form_of_another_site_decides_nothing(client: Client, interaction_url: str) -> None:
    refused = client.post(interaction_url, {"decision": "share"}, headers={"sec-fetch-site": "cross-site"})

    assert refused.status_code == 403
    assert decision() == "asked"


@pytest.mark.parametrize("method", ["put", "delete", "patch"])
def test_an_interaction_accepts_only_get_and_post(client: Client, interaction_url: str, method: str) -> None:
    response = getattr(client, method)(interaction_url)

    assert (response.status_code, response.headers["Allow"]) == (405, "GET, POST")


@pytest.mark.postgresql  # on SQLite the plain way has a statement for each table
def test_each_request_of_the_happy_path_makes_one_read_and_one_write(
    holder: Client, acme_bank: RelyingParty, statements: Any
) -> None:
    ask(holder, acme_bank, nonce="warms-up-what-is-cached")
    holder.post(url_of_interaction(), {"decision": "share"})

    with statements() as authorizing:
        page = ask(holder, acme_bank)
    with statements() as asking:
        holder.get(page)
    interaction_url = url_of_interaction(Interaction.objects.get(outcome=""))
    with statements() as answering:
        holder.post(interaction_url, {"decision": "share"})

    assert [kind(text) for text in authorizing.texts] == ["read", "write"]
    assert [kind(text) for text in asking.texts] == ["read"] * 3  # question, session, last sharing
    assert [kind(text) for text in answering.texts] == ["read", "write"]


def kind(statement: str) -> str:
    return "read" if statement.strip().startswith("SELECT") else "write"


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("choices", [["share"] * 8, ["share", "decline"] * 4])
def test_racing_decisions_get_one_answer(client: Client, interaction_url: str, choices: list[str]) -> None:
    barrier, answers = threading.Barrier(len(choices)), []

    def send(choice: str) -> None:
        racer = Client()
        racer.cookies = client.cookies.copy()
        barrier.wait()
        answers.append((racer.post(interaction_url, {"decision": choice}), choice))
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
