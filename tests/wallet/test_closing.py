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
from infra.operations import WrongStateError
from infra.personal_data import Person
from presentation import outcomes
from presentation.models import RelyingParty
from tests.people import ALICE, BOB, enroll
from tests.presentation.requests.authorization_requests import fragment
from tests.presentation.requests.deciding import SignIn, ask, decide
from tests.wallet.conftest import passkey_of
from tests.wallet.statuses import presented
from wallet.account.closing import closures, sweeping, views
from wallet.account.closing.sweeping import ROW_KEPT
from wallet.identity.enrollment import HeldError, check_not_held
from wallet.models import (
    Credential,
    HolderSession,
    IdentityMark,
    Passkey,
    RedirectTask,
    StatusEntry,
    StatusEvent,
    Wallet,
    WalletClosure,
)
from wallet.sign_in import known_browsers

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
CLOSE = "/wallet/close/"
KEEP = "/wallet/close/keep/"
TWO_HOURS = timedelta(hours=2)
A_DAY = timedelta(days=1)
MOMENT = timedelta(microseconds=1)


def close_now(wallet: Wallet, *, now: datetime | None = None) -> datetime:
    """Ask for it, and sweep a day later; gives the time of the sweep."""
    then = (now or timezone.now()) + A_DAY
    closures.ask(wallet, now=then - A_DAY)
    sweeping.sweep(now=then)
    return then


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
    sign_in(alice, ago=timedelta(minutes=6))

    response = getattr(client, method)(CLOSE)

    assert re.fullmatch(r"/wallet/errands/[0-9a-f-]+/sign-in/", response.headers["Location"])
    assert "confirm" in client.get(response.headers["Location"]).content.decode().lower()
    alice.refresh_from_db()
    assert alice.closes_at is None


@pytest.mark.usefixtures("windows_just_begun")
def test_a_wallet_is_closed_and_kept_so_many_times_a_day(holder: Client) -> None:
    for _ in range(views.CLOSINGS.most + 1):
        holder.post(CLOSE)
        holder.post(KEEP)

    assert WalletClosure.objects.count() == views.CLOSINGS.most
    assert len(mail.outbox) == 2 * views.CLOSINGS.most


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
    holder: Client, acme_bank: RelyingParty, signing_key: Any
) -> None:
    page = ask(holder, acme_bank)

    holder.post(CLOSE)

    assert "fragment" not in holder.get(page).headers.get("Location", "")
    onwards = holder.get(decide(holder, page)).headers["Location"]
    assert "vp_token" not in onwards
    assert not StatusEntry.objects.filter(reference__isnull=False).exists()
    text = holder.get("/wallet/security/").content.decode()
    assert "Your wallet closes on" in text
    assert "Keep my wallet" in text
    assert holder.post(KEEP).headers["Location"] == "/wallet/security/"
    answer = holder.get(decide(holder, ask(holder, acme_bank, nonce="another-nonce-of-16")))
    assert "vp_token" in fragment(answer.headers["Location"])
    assert [message.subject for message in mail.outbox] == [
        "Your wallet will be closed",
        "Your wallet stays open",
    ]
    fact = WalletClosure.objects.get()
    assert (fact.operator_id, fact.undone_by, fact.closed_at) == (None, None, None)
    assert fact.undone_at is not None


def test_the_sweep_leaves_a_wallet_alone_until_its_day_is_over(alice: Wallet) -> None:
    now = timezone.now()
    closures.ask(alice, now=now)

    sweeping.sweep(now=now + A_DAY - timedelta(seconds=1))

    assert Wallet.objects.get().closed_at is None
    sweeping.sweep(now=now + A_DAY)
    assert Wallet.objects.get().closed_at == now + A_DAY


def test_a_wallet_closes_at_the_end_of_its_day_whoever_asks_for_it_before(alice: Wallet) -> None:
    then = timezone.now() + A_DAY
    closure = closures.ask(alice, now=then - A_DAY)

    assert not closures.close(closure, now=then - MOMENT)
    assert Wallet.objects.get().email == ALICE
    assert closures.close(closure, now=then)
    assert not closures.close(closure, now=then)


def test_whoever_was_signed_in_is_out_and_the_person_is_found_no_more_from_that_moment(
    alice: Wallet, sign_in: SignIn
) -> None:
    """Also if the process ends before anything else is erased."""
    then = timezone.now() + A_DAY
    sign_in(alice)
    passkey_of(alice, "Phone", then)
    IdentityMark.objects.create(credential=alice.credential, digest="d" * 64)

    closures.close(closures.ask(alice, now=then - A_DAY), now=then)

    for left in (HolderSession, Passkey, IdentityMark):
        assert not left.objects.exists(), left


def test_a_wallet_closes_whose_address_takes_no_email_any_more(alice: Wallet, now: datetime) -> None:
    Wallet.objects.update(email="no address")
    alice.refresh_from_db()

    closures.ask(alice, now=now)
    sweeping.sweep(now=now + timedelta(days=1, minutes=1))

    alice.refresh_from_db()
    assert alice.closed_at is not None


def test_a_wallet_that_has_closed_cannot_be_kept(alice: Wallet) -> None:
    then = timezone.now() + A_DAY
    closure = closures.ask(alice, now=then - A_DAY)
    closures.close(closure, now=then)

    with pytest.raises(WrongStateError):
        closures.undo(alice, now=then)

    closure.refresh_from_db()
    assert (closure.closed_at, closure.undone_at) == (then, None)
    assert Wallet.objects.get().closed_at == then


def test_the_row_of_a_closed_wallet_stays_for_the_requests_that_began_before(alice: Wallet) -> None:
    then = close_now(alice)

    sweeping.sweep(now=then + ROW_KEPT - MOMENT)
    assert Wallet.objects.exists()

    sweeping.sweep(now=then + ROW_KEPT)
    assert not Wallet.objects.exists()


@pytest.mark.usefixtures("signing_key")
def test_the_row_of_a_closed_wallet_stays_as_long_as_a_credential_presented_from_it(
    alice: Wallet, logged: list[dict[str, Any]]
) -> None:
    entry = presented(alice)
    StatusEntry.objects.filter(id=entry.id).update(expires_at=timezone.now() + timedelta(days=2))
    then = close_now(alice)

    sweeping.sweep(now=then + TWO_HOURS)

    assert Wallet.objects.filter(id=alice.id).exists()
    entry.refresh_from_db()
    assert (entry.credential, entry.status) == (alice.credential, StatusEntry.Status.INVALID)
    assert WalletClosure.objects.get().finished_at is None
    assert [event for event in logged if event["log_level"] == "error"] == [], "waiting is no trouble"


def test_a_closed_wallet_is_revoked_and_gone(
    holder: Client, alice: Wallet, acme_bank: RelyingParty, signing_key: Any
) -> None:
    answer = holder.get(decide(holder, ask(holder, acme_bank)))
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
    assert holder.get("/wallet/history/").headers["Location"] == "/wallet/sign-in/"
    assert [message.to for message in mail.outbox] == [[ALICE]] * 2
    assert mail.outbox[-1].subject == "Your wallet is closed"
    StatusEntry.objects.filter(id=entry.id).delete()  # as the sweep of ended entries does
    sweeping.sweep(now=then + TWO_HOURS)
    assert not Wallet.objects.exists()
    fact = WalletClosure.objects.get()
    assert fact.finished_at == then + TWO_HOURS
    assert (fact.sealed_address, fact.reason) == (None, "own_wish")


def test_the_last_email_is_in_the_language_of_the_wallet_too(alice: Wallet) -> None:
    Wallet.objects.update(language="es")

    close_now(alice)

    assert mail.outbox[-1].subject == "Su cartera está cerrada"


def test_the_address_may_open_another_wallet_that_has_nothing_of_the_old_one(
    holder: Client, alice: Wallet, acme_bank: RelyingParty, sign_in: SignIn, signing_key: Any
) -> None:
    holder.get(decide(holder, ask(holder, acme_bank)))
    then = close_now(alice)

    again = enroll(ALICE, given_name="Alma", family_name="Later", birth_date=timezone.now().date())
    sweeping.sweep(now=then + TWO_HOURS)

    sign_in(again)
    assert "Nothing here yet" in holder.get("/wallet/history/").content.decode()
    assert Wallet.objects.filter(email=ALICE).get() == again
    assert Credential.objects.filter(wallet=again, state="valid").exists()


def test_the_command_closes_wallets(alice: Wallet, capsys: pytest.CaptureFixture[str]) -> None:
    closures.ask(alice, now=timezone.now() - A_DAY)

    call_command("sweep_identity_verifications")

    assert "1 closed wallets" in capsys.readouterr().out
    assert Wallet.objects.get().closed_at is not None


def test_who_came_to_share_keeps_the_wallet_and_goes_on_there(
    holder: Client, acme_bank: RelyingParty, signing_key: Any
) -> None:
    holder.post(CLOSE)
    held = ask(holder, acme_bank)
    page = holder.get(held).content.decode()

    assert held.endswith("/identity/")
    assert "Your wallet will be closed" in page
    assert "Return to Acme Bank" in page
    redirect_task = re.search(r'name="errand" value="([0-9a-f-]+)"', page)
    assert redirect_task is not None
    onwards = holder.post(KEEP, {"errand": redirect_task[1]}).headers["Location"]
    assert holder.get(onwards).headers["Location"].startswith("/consent/")


@pytest.mark.parametrize(
    "redirect_task", ["", "x", "https://evil.example/", "00000000-0000-4000-8000-000000000000"]
)
def test_a_redirect_task_that_is_not_of_this_browser_leads_nowhere(
    holder: Client, redirect_task: str
) -> None:
    holder.post(CLOSE)

    assert holder.post(KEEP, {"errand": redirect_task}).headers["Location"] == "/wallet/security/"
    assert Client().post(KEEP, {"errand": redirect_task}).headers["Location"] == "/wallet/sign-in/"


def test_a_check_that_is_approved_meanwhile_gives_no_identity(alice: Wallet, now: datetime) -> None:
    closures.ask(alice, now=now)
    alice.refresh_from_db()

    with pytest.raises(HeldError):
        check_not_held(alice)


def test_browsers_that_signed_in_before_are_forgotten_and_those_of_others_are_not(
    alice: Wallet, bob: Wallet, now: datetime
) -> None:
    known_browsers.remember("a" * 64, ALICE, now=now)
    known_browsers.remember("a" * 64, BOB, now=now)
    known_browsers.remember("a" * 64, ALICE, now=now, purpose=known_browsers.DEVELOPER)

    close_now(alice, now=now)

    assert not known_browsers.is_known("a" * 64, ALICE, now=now)
    assert known_browsers.is_known("a" * 64, BOB, now=now)
    assert known_browsers.is_known("a" * 64, ALICE, now=now, purpose=known_browsers.DEVELOPER)


def test_sign_ins_that_began_after_the_closing_go_on(client: Client, alice: Wallet, now: datetime) -> None:
    then = close_now(alice, now=now - A_DAY - timedelta(seconds=1))
    client.post("/wallet/sign-in/", {"email": ALICE})
    assert RedirectTask.objects.get().created_at > then

    sweeping.sweep(now=timezone.now() + TWO_HOURS)

    assert RedirectTask.objects.count() == 1


def test_an_outcome_asked_for_later_says_that_it_is_not_valid(
    holder: Client, alice: Wallet, acme_bank: RelyingParty, signing_key: Any
) -> None:
    nonce = "n-0S6_WzA2Mj-0123456"
    holder.get(decide(holder, ask(holder, acme_bank, nonce=nonce)))
    close_now(alice)

    told, later = (
        outcomes.outcome_of(nonce, client_id=acme_bank.client_id, now=timezone.now() + after)
        for after in (timedelta(0), A_DAY)
    )

    assert (told["state"], told["status"]) == ("completed", "invalid")
    assert "status" not in later


def test_nothing_about_the_person_is_logged(
    alice: Wallet, now: datetime, capsys: pytest.CaptureFixture[str]
) -> None:
    close_now(alice, now=now)

    log = capsys.readouterr().err
    assert "wallet_closed" in log
    assert ALICE not in log
    assert ALICE not in repr(Person(alice.id, ALICE, now))
