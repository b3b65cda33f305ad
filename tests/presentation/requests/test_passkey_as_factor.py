"""The fresh factor of a payment as a passkey, asked on the consent page: granted together, or not at all."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from consent.models import Consent
from presentation.models import RelyingParty
from presentation.requests.next_step import FRESH_FACTOR
from tests.people import ALICE, BOB
from tests.presentation.clients import basic, with_secret
from tests.presentation.requests.authorization_requests import encoded, fragment, session_data
from tests.presentation.requests.deciding import PAYMENT, SignIn, ask, url_of_interaction
from tests.presentation.requests.pushing import go, pushed
from tests.wallet.authenticator import PRESENT, Authenticator
from tests.wallet.conftest import code_in
from wallet.models import HolderSession, Passkey, PasskeyChallenge, RedirectTask, Wallet
from wallet.passkeys import registration

pytestmark = pytest.mark.usefixtures("signing_key")
AGO = timedelta(hours=1)


def passkey_of(wallet: Wallet, sign_in: SignIn, origin: str) -> Authenticator:
    """A passkey of this wallet, added in another browser."""
    browser, authenticator = Client(), Authenticator(origin)
    session = sign_in(wallet, browser=browser)
    options = browser.post(reverse("wallet_passkey_options_add")).json()
    registration.add(authenticator.create(options), session, user_agent="", now=timezone.now())
    session.delete()
    mail.outbox.clear()
    return authenticator


@pytest.fixture
def authenticator(alice: Wallet, sign_in: SignIn, settings: Any) -> Authenticator:
    return passkey_of(alice, sign_in, settings.BASE_URL)


@pytest.fixture
def asked(
    client: Client, alice: Wallet, acme_bank: RelyingParty, sign_in: SignIn, authenticator: Authenticator
) -> str:
    """The consent page of a payment; Alice, who has a passkey, signed in an hour ago."""
    sign_in(alice, ago=AGO)
    return ask(client, acme_bank, transaction_data=encoded(PAYMENT))


def options(client: Client, consent: Consent | None = None) -> dict[str, Any]:
    subject = (consent or Consent.objects.get()).id
    response = client.post(reverse("wallet_passkey_options_confirm", args=[subject]))
    assert response.status_code == 200
    return dict(response.json())


def approve(client: Client, posted: str | None = None, decision: str = "share") -> HttpResponse:
    form = {"decision": decision} | ({} if posted is None else {"passkey": posted})
    return client.post(url_of_interaction(), form)  # type: ignore[return-value]


def test_a_holder_with_a_passkey_sees_the_payment_at_once_and_approves_it_with_the_passkey(
    client: Client, asked: str, authenticator: Authenticator
) -> None:
    assert asked.startswith("/consent/")
    page = client.get(asked).content.decode()
    assert 'data-passkey="confirm"' in page
    assert "Use a code from an e-mail instead" in page

    answer = approve(client, authenticator.get(options(client)))

    assert "vp_token" in fragment(answer.headers["Location"])
    assert not RedirectTask.objects.exists()
    assert not mail.outbox
    assert HolderSession.objects.get().signed_in_at > timezone.now() - timedelta(minutes=1)


def test_a_pushed_payment_is_confirmed_at_the_page_of_its_own(
    client: Client, alice: Wallet, sign_in: SignIn, authenticator: Authenticator
) -> None:
    """The page with the passkey is not the answer to the request, whose address could not be reloaded."""
    party, secret = with_secret()
    sign_in(alice, ago=AGO)
    handle = pushed(client, (party, basic(party.client_id, secret)), transaction_data=encoded(PAYMENT))

    response = go(client, handle, party)

    assert response.status_code == 303
    assert 'data-passkey="confirm"' in client.get(response.headers["Location"]).content.decode()


def test_what_the_page_asks_for_are_the_passkeys_of_the_holder(client: Client, asked: str) -> None:
    found = options(client)
    assert [each["id"] for each in found["allowCredentials"]] == [Passkey.objects.get().credential_id]
    assert found["userVerification"] == "required"


def test_without_a_passkey_the_code_is_asked_before_the_consent_page_as_ever(
    client: Client, bob: Wallet, authenticator: Authenticator, acme_bank: RelyingParty, sign_in: SignIn
) -> None:
    sign_in(bob, ago=AGO)
    address = ask(client, acme_bank, login_hint=BOB, transaction_data=encoded(PAYMENT))
    assert address.startswith("/wallet/errands/")


@pytest.mark.parametrize("decision", ["share", "code"])
def test_without_script_the_way_is_by_a_code_and_then_the_passkey_is_not_asked(
    client: Client, asked: str, decision: str
) -> None:
    sent_on = approve(client, decision=decision)
    assert sent_on.headers["Location"].startswith("/wallet/errands/")
    assert Consent.objects.get().decision == Consent.Decision.ASKED

    client.post(sent_on.headers["Location"])
    code = reverse("wallet_code", args=[RedirectTask.objects.get().id])
    back = client.post(code, {"code": code_in(str(mail.outbox[0].body))})
    again = client.get(back.headers["Location"])
    assert again.headers["Location"] == asked
    assert "data-passkey" not in client.get(asked).content.decode()
    assert "vp_token" in fragment(approve(client).headers["Location"])


def test_declining_needs_no_factor(client: Client, asked: str) -> None:
    answer = approve(client, decision="decline")
    assert fragment(answer.headers["Location"])["error"] == "access_denied"


def test_a_fresh_session_is_not_asked(
    holder: Client, acme_bank: RelyingParty, authenticator: Authenticator
) -> None:
    page = ask(holder, acme_bank, transaction_data=encoded(PAYMENT))
    assert "data-passkey" not in holder.get(page).content.decode()
    assert "vp_token" in fragment(approve(holder).headers["Location"])


def test_what_is_no_payment_does_not_ask(
    client: Client, alice: Wallet, acme_bank: RelyingParty, sign_in: SignIn, authenticator: Authenticator
) -> None:
    sign_in(alice, ago=AGO)
    page = ask(client, acme_bank, transaction_data=encoded(session_data()))
    assert "data-passkey" not in client.get(page).content.decode()
    assert Consent.objects.get().fresh_since is None
    assert "vp_token" in fragment(approve(client).headers["Location"])


def test_a_refused_passkey_grants_nothing_and_the_page_leads_back(
    client: Client, asked: str, authenticator: Authenticator
) -> None:
    for changes in (
        {"flags": PRESENT},
        {"origin": "https://evil.example"},
        {"rp_id": "evil.example"},
        {"client_data": {"challenge": "AAAA"}},
    ):
        response = approve(client, authenticator.changed(**changes).get(options(client)))  # type: ignore[arg-type]
        assert response.status_code in (403, 410)
        assert f'href="{asked}"' in response.content.decode()
    assert approve(client, "{}").status_code == 422
    assert Consent.objects.get().decision == Consent.Decision.ASKED
    assert HolderSession.objects.get().signed_in_at < timezone.now() - FRESH_FACTOR
    assert "vp_token" in fragment(approve(client, authenticator.get(options(client))).headers["Location"])


def test_a_signature_for_another_question_or_session_grants_nothing(
    client: Client,
    asked: str,
    authenticator: Authenticator,
    alice: Wallet,
    acme_bank: RelyingParty,
    sign_in: SignIn,
) -> None:
    first = Consent.objects.get()
    interaction = url_of_interaction()
    ask(client, acme_bank, transaction_data=encoded(PAYMENT), nonce="another-nonce-0123456789")
    second = Consent.objects.exclude(id=first.id).get()
    elsewhere = Client()
    sign_in(alice, browser=elsewhere, ago=AGO)

    for posted in (
        authenticator.get(options(client, second)),
        authenticator.get(options(elsewhere, first)),
        authenticator.get(elsewhere.post(reverse("wallet_passkey_options")).json()),
    ):
        response = client.post(interaction, {"decision": "share", "passkey": posted})
        assert response.status_code == 410
    assert not Consent.objects.filter(decision=Consent.Decision.GRANTED).exists()


def test_a_passkey_of_another_wallet_grants_nothing(
    client: Client, asked: str, bob: Wallet, sign_in: SignIn, settings: Any
) -> None:
    bobs = passkey_of(bob, sign_in, settings.BASE_URL)
    response = approve(client, bobs.get(options(client)))
    assert response.status_code == 403
    assert "This passkey is for another wallet" in response.content.decode()
    assert Consent.objects.get().decision == Consent.Decision.ASKED
    assert Passkey.objects.get(wallet=bob).last_used_at is None


def test_a_removed_passkey_and_a_suspended_wallet_grant_nothing(
    client: Client, asked: str, authenticator: Authenticator
) -> None:
    posted = authenticator.get(options(client))
    Passkey.objects.all().delete()
    assert approve(client, posted).status_code == 403
    Wallet.objects.update(state=Wallet.State.SUSPENDED)
    assert approve(client, posted).headers["Location"].startswith("/wallet/errands/")
    assert (
        client.post(reverse("wallet_passkey_options_confirm", args=[Consent.objects.get().id])).status_code
        == 403
    )
    assert Consent.objects.get().decision == Consent.Decision.ASKED


def test_a_signature_approves_once(client: Client, asked: str, authenticator: Authenticator) -> None:
    posted = authenticator.get(options(client))
    assert "vp_token" in fragment(approve(client, posted).headers["Location"])
    assert approve(client, posted).status_code == 410
    assert not PasskeyChallenge.objects.exists()


def test_a_granted_question_is_never_answered_for_an_old_session(client: Client, asked: str) -> None:
    """As if the process died after the decision, and the session grew old."""
    from consent import decisions

    consent = Consent.objects.get()
    decisions.grant(consent.id, consent.wallet, now=timezone.now())
    assert client.get(url_of_interaction()).headers["Location"].startswith("/wallet/errands/")


def test_asking_for_a_code_after_the_request_has_ended_shows_that_it_has(client: Client, asked: str) -> None:
    from presentation.models import Interaction

    Interaction.objects.update(expires_at=timezone.now())
    for decision in ("code", "share"):
        assert approve(client, decision=decision).status_code == 410
    assert Consent.objects.get().decision == Consent.Decision.ASKED


def test_the_email_address_is_not_in_what_the_authenticator_is_told(client: Client, asked: str) -> None:
    assert ALICE not in json.dumps(options(client))
