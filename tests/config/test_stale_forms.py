"""A form whose token was changed in another tab does nothing, and its page shows the current state."""

from typing import Any

import pytest
from django.conf import settings
from django.core import mail
from django.test import Client
from django.urls import get_resolver, reverse
from django.utils import timezone

from config.views import PAGE_OF_FORM
from consent import decisions
from consent.models import Consent
from presentation.models import Interaction, RelyingParty
from presentation.requests.interactions import path_of
from tests.consent.questions import put
from tests.people import NORA
from tests.presentation.requests.test_flow import ask, decide
from tests.wallet.conftest import make_errand
from tests.wallet.test_identity_verification import attempt_in
from wallet.models import HolderSession, IdentityVerification, LoginCode, Wallet

HERE = "http://testserver"
NOTICE = "Please try that again."


@pytest.fixture
def tab(client: Client) -> Client:
    """A tab of the client's browser whose forms have the old token."""
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = client.cookies  # the tabs share the cookies of the browser
    client.cookies[settings.CSRF_COOKIE_NAME] = "n" * 32
    return strict


def send(tab: Client, address: str, data: dict[str, str] | None = None, origin: str | None = HERE) -> Any:
    form = {"csrfmiddlewaretoken": "o" * 32, **(data or {})}
    return tab.post(address, form, headers={"origin": origin} if origin else {})


def submitted(tab: Client, address: str, data: dict[str, str] | None = None) -> Any:
    """The page that the browser shows after the redirects within the service."""
    response = send(tab, address, data)
    assert response.status_code == 303
    assert "no-store" in response.headers["Cache-Control"]
    return tab.get(response.headers["Location"], follow=True)


# --- Decisions ----------------------------------------------------------------------------------------------


@pytest.fixture
def question(client: Client, tab: Client, alice: Wallet, acme_bank: RelyingParty, sign_in: Any) -> str:
    """The URL of the consent page that asks Alice."""
    sign_in(alice)
    return ask(client, acme_bank)


@pytest.fixture
def interaction(question: str) -> str:
    return path_of(Interaction.objects.get())


pytestmark = [pytest.mark.usefixtures("signing_key"), pytest.mark.slow]


@pytest.mark.parametrize("answer", ["share", "decline"])
@pytest.mark.parametrize(
    ("before", "words"),
    [("share", "You said yes to"), ("decline", "You said no to <bdi>Acme Bank</bdi>, and")],
)
def test_a_decision_from_a_second_tab_is_shown_what_was_decided_in_the_first(
    client: Client, tab: Client, interaction: str, before: str, words: str, answer: str
) -> None:
    assert "bank.example/callback#" in client.post(interaction, {"decision": before}).headers["Location"]

    page = submitted(tab, interaction, {"decision": answer})

    text = page.content.decode()
    assert page.status_code == 410
    assert "<h1>You have already answered</h1>" in text
    assert words in text
    assert NOTICE not in text
    assert 'href="https://bank.example/"' in text


def test_a_stale_decision_on_an_open_question_asks_again_and_says_why(
    tab: Client, interaction: str, question: str
) -> None:
    page = submitted(tab, interaction, {"decision": "share"})

    assert page.status_code == 200
    assert page.request["PATH_INFO"] == question
    assert NOTICE in page.content.decode()
    assert Consent.objects.get().decision == Consent.Decision.ASKED
    assert not Interaction.objects.get().outcome


@pytest.mark.parametrize("answer", ["share", "decline"])
def test_a_stale_decision_does_not_act_on_what_the_first_tab_decided(
    client: Client, tab: Client, question: str, interaction: str, answer: str
) -> None:
    decide(client, question)  # the process died before it answered

    page = submitted(tab, interaction, {"decision": answer})

    assert "You said yes to <bdi>Acme Bank</bdi>" in page.content.decode()
    assert not Interaction.objects.get().outcome
    assert tab.get(interaction).headers["Location"].startswith("https://bank.example/callback#vp_token=")


def test_a_stale_decision_after_a_sign_out_elsewhere_asks_for_a_sign_in(
    client: Client, tab: Client, interaction: str
) -> None:
    client.post(reverse("wallet_sign_out"))
    page = submitted(tab, interaction, {"decision": "share"})
    assert "Confirm your e-mail address" in page.content.decode()
    assert Consent.objects.get().decision == Consent.Decision.ASKED


@pytest.mark.parametrize("origin", ["https://evil.example", "null", None, "http://testserver:81"])
def test_a_form_from_another_site_is_not_redirected(
    tab: Client, interaction: str, origin: str | None
) -> None:
    response = send(tab, interaction, {"decision": "share"}, origin)
    assert response.status_code == 403
    assert "Location" not in response.headers
    assert Consent.objects.get().decision == Consent.Decision.ASKED


def test_a_browser_without_cookies_gets_an_explanation_and_no_redirect_loop(db: None) -> None:
    response = send(Client(enforce_csrf_checks=True), reverse("wallet_front_door"), {"email": NORA})
    assert response.status_code == 403
    assert "allow cookies" in response.content.decode()


# --- Every other form of a holder ---------------------------------------------------------------------------


@pytest.fixture
def nora(db: None) -> Wallet:
    return Wallet.objects.create(email=NORA, created_at=timezone.now())


@pytest.mark.parametrize("name", ["wallet_sign_in", "wallet_code"])
def test_a_stale_sign_in_goes_on_when_another_tab_has_signed_in(
    client: Client, tab: Client, nora: Wallet, sign_in: Any, name: str
) -> None:
    errand = make_errand(client, now=timezone.now(), return_to=reverse("consent_history"))
    sign_in(nora)

    page = submitted(tab, reverse(name, args=[errand.id]), {"code": "123456"})

    assert page.request["PATH_INFO"] == reverse("consent_history")
    assert mail.outbox == []


@pytest.mark.parametrize(
    ("name", "words"),
    [("wallet_sign_in", "Send me a code"), ("wallet_code", "Enter the code")],
)
def test_a_stale_sign_in_form_is_shown_again(
    client: Client, tab: Client, nora: Wallet, name: str, words: str
) -> None:
    errand = make_errand(client, now=timezone.now())
    client.post(reverse("wallet_sign_in", args=[errand.id]))
    tries = LoginCode.objects.get().tries_left

    page = submitted(tab, reverse(name, args=[errand.id]), {"code": "123456"})

    assert words in page.content.decode()
    assert NOTICE in page.content.decode()
    assert LoginCode.objects.get().tries_left == tries
    assert len(mail.outbox) == 1


def test_a_stale_front_door_is_shown_again_or_leads_to_the_wallet(
    tab: Client, nora: Wallet, sign_in: Any
) -> None:
    assert NOTICE in submitted(tab, reverse("wallet_front_door"), {"email": NORA}).content.decode()
    sign_in(nora)
    page = submitted(tab, reverse("wallet_front_door"), {"email": NORA})
    assert page.request["PATH_INFO"] == reverse("wallet_home")
    assert mail.outbox == []


@pytest.mark.parametrize(
    ("form", "page"),
    [("wallet_own_identity", "wallet_home"), ("wallet_share_emails", "consent_history")],
)
def test_a_stale_form_of_a_holder_is_shown_again_and_does_nothing(
    holder: Client, tab: Client, alice: Wallet, form: str, page: str
) -> None:
    shown = submitted(tab, reverse(form), {"share_emails": "on"})
    assert shown.request["PATH_INFO"] == reverse(page)
    assert NOTICE in shown.content.decode()
    assert not Wallet.objects.get(id=alice.id).share_emails
    assert not IdentityVerification.objects.filter(wallet=alice).exclude(state="approved").exists()


def test_a_stale_switch_keeps_who_is_signed_in(
    client: Client, tab: Client, alice: Wallet, sign_in: Any
) -> None:
    errand = make_errand(client, now=timezone.now())
    sign_in(alice)
    page = submitted(tab, reverse("wallet_switch", args=[errand.id]))
    assert NOTICE in page.content.decode()
    assert HolderSession.objects.get().wallet == alice


@pytest.mark.parametrize(
    ("name", "state", "heading"),
    [
        ("wallet_identity_start", None, "Confirm your identity"),
        ("wallet_identity_cancel", "started", "Continue the identity check"),
    ],
)
def test_a_stale_step_of_an_identity_check_changes_nothing(
    client: Client, tab: Client, nora: Wallet, sign_in: Any, name: str, state: str | None, heading: str
) -> None:
    errand = make_errand(client, now=timezone.now())
    sign_in(nora)
    if state:
        attempt_in(state, nora, timezone.now(), errand=errand)

    page = submitted(tab, reverse(name, args=[errand.id]))

    assert f"<h1>{heading}</h1>" in page.content.decode()
    assert NOTICE in page.content.decode()
    assert list(IdentityVerification.objects.values_list("state", flat=True)) == ([state] if state else [])


def test_a_stale_pick_at_the_simulated_check_is_asked_again(
    client: Client, tab: Client, nora: Wallet, sign_in: Any
) -> None:
    errand = make_errand(client, now=timezone.now())
    sign_in(nora)
    attempt = attempt_in("started", nora, timezone.now(), errand=errand)
    page = submitted(tab, reverse("sandbox_identity", args=[attempt.pk]), {"outcome": "adult"})
    assert NOTICE in page.content.decode()
    attempt.refresh_from_db()
    assert attempt.state == "started"


def test_a_stale_sign_out_does_nothing_and_offers_it_again(
    client: Client, tab: Client, nora: Wallet, sign_in: Any
) -> None:
    errand = make_errand(client, now=timezone.now())
    sign_in(nora)
    for address in (
        reverse("wallet_sign_out"),
        reverse("wallet_errand_sign_out", args=[errand.id]),
    ):
        page = submitted(tab, address)
        assert NOTICE in page.content.decode()
        assert "Sign out" in page.content.decode()
    assert HolderSession.objects.exists()


def test_a_stale_invalidation_is_asked_again(holder: Client, tab: Client, alice: Wallet) -> None:
    from tests.wallet.statuses import VALID, presented, status_of

    consent = put(alice)
    decisions.grant(consent.id, alice, now=timezone.now())
    entry = presented(alice, reference=consent.id)
    page = submitted(tab, reverse("consent_invalidate", args=[consent.id]))
    assert NOTICE in page.content.decode()
    assert status_of(entry) == VALID


def test_a_form_with_much_typing_is_not_thrown_away(tab: Client, db: None) -> None:
    response = send(tab, reverse("self_service"), {"email": "dev@shop.example"})
    assert response.status_code == 403
    assert "Please try that again" in response.content.decode()


def test_the_language_is_switched_even_if_the_token_was_changed_in_another_tab(tab: Client, db: None) -> None:
    response = send(tab, reverse("language"), {"language": "es", "next": "/wallet/sign-in/"})
    assert (response.status_code, response.headers["Location"]) == (303, "/wallet/sign-in/")
    assert tab.cookies[settings.LANGUAGE_COOKIE_NAME].value == "es"


@pytest.mark.parametrize(
    "origin", [None, "null", "https://attacker.example", "http://testserver.attacker.example"]
)
def test_no_other_site_switches_the_language(tab: Client, db: None, origin: str | None) -> None:
    response = send(tab, reverse("language"), {"language": "es", "next": "/"}, origin=origin)
    assert response.status_code == 403
    assert settings.LANGUAGE_COOKIE_NAME not in tab.cookies


def test_every_page_that_a_stale_form_leads_to_is_there() -> None:
    names = get_resolver().reverse_dict
    assert all(page in names for pair in PAGE_OF_FORM.items() for page in pair)
