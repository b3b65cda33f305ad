"""Where a relying party's requests begin: the way back from the e-mail about an identity check."""

from datetime import datetime
from typing import Any

import pytest
from django.conf import settings
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from presentation.models import RelyingParty
from tests.presentation.requests.deciding import ask
from wallet.identity import attempts, notices
from wallet.models import IdentityVerification, RedirectTask, Wallet

START = "https://bank.example/identity?from=wallet"


@pytest.fixture
def starting(acme_bank: RelyingParty) -> RelyingParty:
    acme_bank.initiate_login_uri = START
    acme_bank.save()
    return acme_bank


def decided(client: Client, party: RelyingParty, wallet: Wallet, state: str, now: datetime) -> str:
    """The e-mail about the outcome of a check that was begun for a request of this party, in both forms."""
    ask(client, party, login_hint=wallet.email)
    verification = attempts.attempt(wallet, RedirectTask.objects.get(), "simulated", now=now)
    IdentityVerification.objects.update(state=state)
    verification.refresh_from_db()
    # Meanwhile they looked at their wallet, for nobody.
    own = RedirectTask.objects.create(browser="b", email=wallet.email, created_at=now, expires_at=now)
    notices.owe(attempts.for_redirect_task(verification, own))
    assert notices.send_owed(verification)
    [message] = mail.outbox
    return f"{message.body}{message.alternatives[0][0]}"


@pytest.fixture
def now() -> datetime:
    return timezone.now()


@pytest.fixture
def nora(db: None, now: datetime) -> Wallet:
    return Wallet.objects.create(email="nora@example.org", created_at=now)


@pytest.mark.parametrize("state", ["approved", "resubmit"])
def test_the_email_after_a_check_leads_back_to_where_the_person_came_from(
    client: Client, starting: RelyingParty, nora: Wallet, now: datetime, state: str
) -> None:
    said = decided(client, starting, nora, state, now)

    assert "Go back to Acme Bank and start again there" in " ".join(said.split())
    path = reverse("begin_again", args=[starting.client_id])
    assert f'<a class="button" href="{settings.BASE_URL}{path}">Go back to Acme Bank</a>' in said
    response = client.get(path)
    assert response.status_code == 303
    assert response["Location"] == f"{START}&iss=http%3A%2F%2Flocalhost%3A8000"


def test_without_such_an_address_the_email_names_the_application(
    client: Client, acme_bank: RelyingParty, nora: Wallet, now: datetime
) -> None:
    said = decided(client, acme_bank, nora, "approved", now)

    assert "Go back to Acme Bank and start again there" in " ".join(said.split())
    assert 'class="button" href' not in said


def test_a_declined_check_leads_nowhere(
    client: Client, starting: RelyingParty, nora: Wallet, now: datetime
) -> None:
    assert "Acme Bank" not in decided(client, starting, nora, "declined", now)


def test_where_the_address_is_gone_a_page_names_the_application(client: Client, acme_bank: Any) -> None:
    response = client.get(reverse("begin_again", args=[acme_bank.client_id]))

    assert response.status_code == 200
    assert "Open <bdi>Acme Bank</bdi> as you usually do" in response.content.decode()


def test_nobody_is_led_to_a_relying_party_that_is_suspended_or_unknown(
    client: Client, starting: RelyingParty
) -> None:
    path = reverse("begin_again", args=[starting.client_id])
    RelyingParty.objects.update(state="suspended", suspension_reason="fraud")

    assert client.get(path).status_code == client.get(reverse("begin_again", args=["x"])).status_code == 404
    assert client.post(path).status_code == 405
