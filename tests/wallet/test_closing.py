"""Closing a wallet: asked for, undone within a day, done by the sweep."""

import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.core import mail
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from consent.models import Consent
from presentation.models import RelyingParty
from tests.people import ALICE, enroll
from tests.presentation.requests.test_authorize import fragment
from tests.presentation.requests.test_flow import SignIn, ask, decide
from wallet.account import closing, closing_sweep
from wallet.models import Credential, HolderSession, StatusEntry, StatusEvent, Wallet, WalletClosure

pytestmark = pytest.mark.django_db
CLOSE = "/wallet/close/"
KEEP = "/wallet/close/keep/"
TWO_HOURS = timedelta(hours=2)
A_DAY = timedelta(days=1)


def close_now(wallet: Wallet, *, now: datetime | None = None) -> datetime:
    """Ask for it, and sweep a day later; gives the time of the sweep."""
    then = (now or timezone.now()) + A_DAY
    closing.ask(wallet, now=then - A_DAY)
    closing_sweep.sweep(now=then)
    return then


def test_the_page_says_what_happens_and_what_stays(client: Client, alice: Wallet, sign_in: SignIn) -> None:
    sign_in(alice)

    text = client.get(CLOSE).content.decode()

    assert "You have a day to change your mind" in text
    assert "nothing stays but its type and a checksum" in text
    assert "/what-is-kept/" in text
    assert "/wallet/data/" in text


def test_with_a_legal_hold_the_page_says_that_payments_stay(
    client: Client, alice: Wallet, sign_in: SignIn, settings: Any
) -> None:
    settings.TRANSACTION_LEGAL_HOLD, settings.TRANSACTION_RETENTION_YEARS = True, 5
    sign_in(alice)

    text = client.get(CLOSE).content.decode()

    assert "until 5 years after you were asked, because the law demands it" in text
    assert "nothing stays but" not in text


@pytest.mark.parametrize("method", ["get", "post"])
def test_closing_needs_a_fresh_factor(client: Client, alice: Wallet, sign_in: SignIn, method: str) -> None:
    sign_in(alice, ago=timedelta(minutes=16))

    response = getattr(client, method)(CLOSE)

    assert re.fullmatch(r"/wallet/errands/[0-9a-f-]+/sign-in/", response.headers["Location"])
    assert "confirm" in client.get(response.headers["Location"]).content.decode().lower()
    alice.refresh_from_db()
    assert alice.closes_at is None


def test_strangers_are_led_to_the_sign_in(client: Client, alice: Wallet) -> None:
    assert client.post(CLOSE).headers["Location"] == "/wallet/sign-in/"
    assert client.post(KEEP).headers["Location"] == "/wallet/sign-in/"
    assert client.get(KEEP).status_code == 405
    assert not WalletClosure.objects.exists()


def test_closing_takes_a_form_of_this_site(alice: Wallet, sign_in: SignIn) -> None:
    browser = Client(enforce_csrf_checks=True)
    sign_in(alice, browser=browser)

    assert browser.post(CLOSE).status_code == 403
    assert browser.post(KEEP).status_code == 403
    assert not WalletClosure.objects.exists()


def test_a_wallet_that_is_about_to_close_shares_nothing_and_can_be_kept(
    client: Client,
    alice: Wallet,
    acme_bank: RelyingParty,
    sign_in: SignIn,
    signing_key: Any,
) -> None:
    sign_in(alice)
    page = ask(client, acme_bank)

    client.post(CLOSE)

    assert "fragment" not in client.get(page).headers.get("Location", "")
    onwards = client.get(decide(client, page)).headers["Location"]
    assert "vp_token" not in onwards
    assert not StatusEntry.objects.filter(reference__isnull=False).exists()
    text = client.get("/wallet/security/").content.decode()
    assert "Your wallet closes on" in text
    assert "Keep my wallet" in text
    assert client.post(KEEP).headers["Location"] == "/wallet/security/"
    answer = client.get(decide(client, ask(client, acme_bank, nonce="another-nonce-of-16")))
    assert "vp_token" in fragment(answer.headers["Location"])
    assert [letter.subject for letter in mail.outbox] == [
        "Your wallet will be closed",
        "Your wallet stays open",
    ]
    fact = WalletClosure.objects.get()
    assert (fact.operator_id, fact.undone_by, fact.closed_at) == (None, None, None)
    assert fact.undone_at is not None


def test_the_sweep_leaves_a_wallet_alone_until_its_day_is_over(alice: Wallet) -> None:
    now = timezone.now()
    closing.ask(alice, now=now)

    closing_sweep.sweep(now=now + A_DAY - timedelta(seconds=1))

    assert Wallet.objects.get().closed_at is None
    closing_sweep.sweep(now=now + A_DAY)
    assert Wallet.objects.get().closed_at == now + A_DAY


def test_a_closed_wallet_is_revoked_and_gone(
    client: Client, alice: Wallet, acme_bank: RelyingParty, sign_in: SignIn, signing_key: Any
) -> None:
    sign_in(alice)
    answer = client.get(decide(client, ask(client, acme_bank)))
    assert "vp_token" in fragment(answer.headers["Location"])
    entry = StatusEntry.objects.get(reference__isnull=False)
    StatusEntry.objects.filter(id=entry.id).update(expires_at=timezone.now() + timedelta(days=2))

    then = close_now(alice)

    entry.refresh_from_db()
    assert entry.status == StatusEntry.Status.INVALID
    credential = Credential.objects.get()
    assert (credential.state, bytes(credential.sealed_identity)) == ("revoked", b"")
    assert StatusEvent.objects.get().actor == "holder"
    assert not HolderSession.objects.exists()
    consent = Consent.objects.get()
    assert consent.wallet is None
    assert consent.decision == "granted"
    assert consent.requester["name"] == "Acme Bank"
    assert client.get("/wallet/history/").headers["Location"] == "/wallet/sign-in/"
    assert [(letter.to, letter.subject) for letter in mail.outbox] == [([ALICE], "Your wallet is closed")]
    StatusEntry.objects.filter(id=entry.id).delete()  # as the sweep of ended entries does
    closing_sweep.sweep(now=then + TWO_HOURS)
    assert not Wallet.objects.exists()
    fact = WalletClosure.objects.get()
    assert fact.finished_at == then + TWO_HOURS
    assert (fact.sealed_address, fact.reason) == (None, "own_wish")


def test_the_address_may_open_another_wallet_that_has_nothing_of_the_old_one(
    client: Client, alice: Wallet, acme_bank: RelyingParty, sign_in: SignIn, signing_key: Any
) -> None:
    sign_in(alice)
    client.get(decide(client, ask(client, acme_bank)))
    then = close_now(alice)

    again = enroll(ALICE, given_name="Alma", family_name="Later", birth_date=timezone.now().date())
    closing_sweep.sweep(now=then + TWO_HOURS)

    sign_in(again)
    assert "Nothing here yet" in client.get("/wallet/history/").content.decode()
    assert Wallet.objects.filter(email=ALICE).get() == again
    assert Credential.objects.filter(wallet=again, state="valid").exists()


def test_the_command_closes_wallets(alice: Wallet, capsys: pytest.CaptureFixture[str]) -> None:
    closing.ask(alice, now=timezone.now() - A_DAY)

    call_command("sweep_identity_verifications")

    assert "1 closed wallets" in capsys.readouterr().out
    assert Wallet.objects.get().closed_at is not None
