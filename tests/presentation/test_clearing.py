"""What `clear_expired` deletes, and what it must keep."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from consent.models import Consent
from presentation.models import Interaction, RelyingParty
from tests.presentation.requests.deciding import ask, decide

pytestmark = pytest.mark.usefixtures("signing_key")


def age(days: int) -> None:
    """Moves all rows into the past by so many days."""
    Interaction.objects.update(expires_at=timezone.now() - timedelta(days=days))
    Consent.objects.update(expires_at=timezone.now() - timedelta(days=days))


def clear() -> str:
    out = StringIO()
    call_command("clear_expired", batch=2, stdout=out)
    return out.getvalue()


def test_unanswered_requests_go_with_their_questions(holder: Client, acme_bank: RelyingParty) -> None:
    for number in range(5):
        ask(holder, acme_bank, nonce=f"a-nonce-of-its-own-{number}")
    age(days=2)

    cleared = clear()
    assert "5 interactions" in cleared
    assert "5 questions" in cleared
    assert not Interaction.objects.exists()
    assert not Consent.objects.exists()


def test_a_yes_that_was_never_answered_is_no_sharing_on_the_receipt(
    holder: Client, acme_bank: RelyingParty
) -> None:
    for number in range(3):
        decide(
            holder, ask(holder, acme_bank, nonce=f"a-nonce-of-its-own-{number}")
        )  # and the process dies before it answers

    clear()
    assert not Consent.objects.exclude(undelivered_at=None).exists()  # a request may still answer it

    age(days=1)
    clear()
    assert Consent.objects.exclude(undelivered_at=None).count() == 3
    assert "You said yes, but nothing was shared" in holder.get("/wallet/history/").content.decode()


def test_a_yes_that_ended_in_an_error_is_no_sharing_either(holder: Client, acme_bank: RelyingParty) -> None:
    decide(holder, ask(holder, acme_bank))
    Interaction.objects.update(outcome="error", answered_at=timezone.now())
    age(days=1)

    clear()

    assert Consent.objects.get().undelivered_at is not None


def test_a_yes_that_was_answered_stays_shared(holder: Client, acme_bank: RelyingParty) -> None:
    holder.get(decide(holder, ask(holder, acme_bank)))
    age(days=2)

    clear()

    assert Consent.objects.get().undelivered_at is None


def test_open_requests_stay(holder: Client, acme_bank: RelyingParty) -> None:
    ask(holder, acme_bank)

    clear()

    assert Interaction.objects.count() == 1
    assert Consent.objects.count() == 1


def test_a_nonce_that_gave_a_token_is_remembered_for_a_year_and_the_consent_for_ever(
    holder: Client, acme_bank: RelyingParty
) -> None:
    holder.get(decide(holder, ask(holder, acme_bank)))

    age(days=366)
    clear()
    assert Interaction.objects.count() == 1

    age(days=401)
    clear()
    assert not Interaction.objects.exists()
    assert Consent.objects.get().decision == Consent.Decision.GRANTED
