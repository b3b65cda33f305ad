"""A form in a tab from before something happened in another tab of the same browser.

Nothing ends the forms of other tabs, so the rows decide what such a form still does.
"""

from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from consent.models import Consent
from presentation.models import Interaction, RelyingParty
from presentation.requests.interactions import path_of
from tests.people import NORA
from tests.presentation.requests.deciding import ask, decide
from tests.wallet.attempts import attempt_in
from tests.wallet.browser_redirect_tasks import make_redirect_task
from wallet.models import HolderSession, IdentityVerification, Wallet

pytestmark = [pytest.mark.usefixtures("signing_key"), pytest.mark.slow]
SHARED = "https://bank.example/callback#vp_token="


@pytest.fixture
def question(client: Client, alice: Wallet, acme_bank: RelyingParty, sign_in: Any) -> str:
    """The URL of the consent page that asks Alice."""
    sign_in(alice)
    return ask(client, acme_bank)


@pytest.fixture
def interaction(question: str) -> str:
    return path_of(Interaction.objects.get())


@pytest.fixture
def nora(db: None) -> Wallet:
    return Wallet.objects.create(email=NORA, created_at=timezone.now())


# --- Decisions ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("decision", ["share", "decline"])
def test_a_yes_in_one_tab_leaves_the_question_in_another_open(
    client: Client, interaction: str, acme_bank: RelyingParty, corner_shop: RelyingParty, decision: str
) -> None:
    ask(client, corner_shop, redirect_uri="https://shop.example/callback")
    other = path_of(Interaction.objects.get(relying_party=corner_shop))

    first = client.post(interaction, {"decision": decision})
    second = client.post(other, {"decision": "share"})

    assert first.headers["Location"].startswith("https://bank.example/callback#")
    assert "#vp_token=" in second.headers["Location"]


@pytest.mark.parametrize("answer", ["share", "decline"])
@pytest.mark.parametrize(
    ("before", "words"),
    [("share", "You said yes to"), ("decline", "You said no to <bdi>Acme Bank</bdi>, and")],
)
def test_a_decision_from_a_second_tab_is_shown_what_was_decided_in_the_first(
    client: Client, interaction: str, before: str, words: str, answer: str
) -> None:
    assert "bank.example/callback#" in client.post(interaction, {"decision": before}).headers["Location"]

    page = client.post(interaction, {"decision": answer})

    text = page.content.decode()
    assert page.status_code == 410
    assert "no-store" in page.headers["Cache-Control"]
    assert "<h1>You have already answered</h1>" in text
    assert words in text
    assert 'href="https://bank.example/"' in text
    assert Consent.objects.get().decision == {"share": "granted", "decline": "declined"}[before]


def test_a_decline_does_not_undo_the_yes_of_another_tab_that_was_not_answered_yet(
    client: Client, question: str, interaction: str
) -> None:
    decide(client, question)  # the process died before it answered

    page = client.post(interaction, {"decision": "decline"})

    assert "You said yes to <bdi>Acme Bank</bdi>" in page.content.decode()
    assert not Interaction.objects.get().outcome
    assert client.get(interaction).headers["Location"].startswith(SHARED)


def test_a_decision_after_a_sign_out_elsewhere_asks_for_a_sign_in(client: Client, interaction: str) -> None:
    client.post(reverse("wallet_sign_out"))
    page = client.get(client.post(interaction, {"decision": "share"}).headers["Location"])
    assert "Confirm your e-mail address" in page.content.decode()
    assert Consent.objects.get().decision == Consent.Decision.ASKED


def test_a_question_from_before_a_new_sign_in_of_the_same_person_can_be_answered(
    client: Client, interaction: str, alice: Wallet, sign_in: Any
) -> None:
    sign_in(alice)
    assert client.post(interaction, {"decision": "share"}).headers["Location"].startswith(SHARED)


# --- Every other form of a holder ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["wallet_sign_in", "wallet_code"])
def test_a_form_of_the_sign_in_goes_on_when_another_tab_has_signed_in(
    client: Client, nora: Wallet, sign_in: Any, name: str
) -> None:
    redirect_task = make_redirect_task(client, now=timezone.now(), return_to=reverse("consent_history"))
    sign_in(nora)

    response = client.post(reverse(name, args=[redirect_task.id]), {"code": "123456"})

    assert response.headers["Location"] == reverse("consent_history")
    assert mail.outbox == []


def test_the_front_door_leads_to_the_wallet_when_another_tab_has_signed_in(
    client: Client, nora: Wallet, sign_in: Any
) -> None:
    sign_in(nora)
    response = client.post(reverse("wallet_front_door"), {"email": NORA})
    assert response.headers["Location"] == reverse("wallet_home")
    assert mail.outbox == []


@pytest.mark.parametrize("name", ["wallet_share_emails", "wallet_own_identity", "wallet_close"])
def test_a_form_of_a_holder_leads_to_the_sign_in_after_a_sign_out_elsewhere(
    holder: Client, alice: Wallet, name: str
) -> None:
    holder.post(reverse("wallet_sign_out"))
    assert holder.post(reverse(name)).headers["Location"] == reverse("wallet_front_door")
    alice.refresh_from_db()
    assert alice.closes_at is None


def test_a_switch_that_another_tab_has_made_is_not_made_again(
    client: Client, nora: Wallet, sign_in: Any
) -> None:
    redirect_task = make_redirect_task(client, now=timezone.now())  # for Nora
    sign_in(nora)
    response = client.post(reverse("wallet_switch", args=[redirect_task.id]))
    assert response.headers["Location"] == reverse("wallet_sign_in", args=[redirect_task.id])
    assert HolderSession.objects.get().wallet == nora


def test_a_check_that_another_tab_has_begun_is_begun_once(client: Client, nora: Wallet, sign_in: Any) -> None:
    redirect_task = make_redirect_task(client, now=timezone.now())
    sign_in(nora)
    for _tab in range(2):
        client.post(reverse("wallet_identity_start", args=[redirect_task.id]), {"provider": "simulated"})
    assert IdentityVerification.objects.count() == 1


def test_a_pick_at_the_simulated_check_that_another_tab_has_ended_does_nothing(
    client: Client, nora: Wallet, sign_in: Any
) -> None:
    redirect_task = make_redirect_task(client, now=timezone.now())
    sign_in(nora)
    attempt = attempt_in("declined", nora, timezone.now(), redirect_task=redirect_task)
    response = client.post(reverse("sandbox_identity", args=[attempt.pk]), {"outcome": "adult"})
    assert response.headers["Location"] == reverse("wallet_identity_return", args=[attempt.pk])
    attempt.refresh_from_db()
    assert attempt.state == "declined"


def test_a_second_sign_out_is_a_sign_out(client: Client, nora: Wallet, sign_in: Any) -> None:
    sign_in(nora)
    for _tab in range(2):
        response = client.post(reverse("wallet_sign_out"))
        assert response.headers["Location"] == reverse("wallet_signed_out")
    assert not HolderSession.objects.exists()


def test_the_language_is_switched_in_a_tab_from_before_a_sign_in(
    client: Client, nora: Wallet, sign_in: Any
) -> None:
    sign_in(nora)
    response = client.post(reverse("language"), {"language": "es", "next": "/wallet/sign-in/"})
    assert response.headers["Location"] == "/wallet/sign-in/"
    assert client.cookies["language"].value == "es"
