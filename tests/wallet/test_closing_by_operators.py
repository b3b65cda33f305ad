"""Operators close a wallet on request: with a code for the reason, and a fact that names nobody."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.core import mail
from django.test import Client
from django.utils import timezone

from infra.models import AuditLine
from tests.people import ALICE
from tests.presentation.requests.deciding import SignIn
from tests.wallet.operators import address, operate
from tests.wallet.statuses import presented
from wallet.account.closing import sweeping
from wallet.models import StatusEvent, Wallet, WalletClosure
from wallet.operations import suspension

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("signing_key"), pytest.mark.slow]


def close(client: Client, wallet: Wallet, reason: str = "asked_us") -> Any:
    return operate(client, wallet, "close", reason=reason)


def test_the_page_says_in_numbers_what_goes(olga: Client, alice: Wallet, sign_in: SignIn) -> None:
    presented(alice)
    sign_in(alice)

    page = olga.get(address(alice, "do", "close")).content.decode()

    assert "<strong>1</strong> presented credential " in page
    assert "<strong>1</strong> identity check is erased, with 0 pictures" in page
    assert "<strong>1</strong> browser is signed out" in page
    assert "<strong>0</strong> consent records lose their holder" in page
    assert "The transactions of <strong>0</strong> records are erased" in page
    assert "own_wish" not in page


def test_with_a_legal_hold_the_page_says_that_transactions_stay(
    olga: Client, alice: Wallet, settings: Any
) -> None:
    settings.TRANSACTION_LEGAL_HOLD = True

    page = olga.get(address(alice, "do", "close")).content.decode()

    assert "stay until their retention ends (legal hold)" in page


@pytest.mark.parametrize("reason", ["", "own_wish", "Alice Archer is fed up"])
def test_the_reason_is_a_code(olga: Client, alice: Wallet, reason: str) -> None:
    assert close(olga, alice, reason).status_code == 200
    assert not WalletClosure.objects.exists()


def test_a_wallet_is_closed_by_an_operator(
    olga: Client, alice: Wallet, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        assert close(olga, alice).status_code == 302

    operator = User.objects.get(username="olga")
    fact = WalletClosure.objects.get()
    assert (fact.wallet, fact.operator_id, fact.reason) == (alice.id, operator.pk, "asked_us")
    entry = AuditLine.objects.get(action="close")
    assert (entry.operator_id, entry.about) == (operator.pk, f"wallet.wallet:{alice.id}")
    logged = LogEntry.objects.get()
    assert ALICE not in logged.object_repr + logged.change_message
    assert [letter.subject for letter in mail.outbox] == ["Your wallet will be closed"]
    sweeping.sweep(now=timezone.now() + timedelta(days=1))
    alice.refresh_from_db()
    assert alice.closed_at is not None
    listed = olga.get("/admin/wallet/walletclosure/").content.decode()
    assert "the holder asked for it" in listed
    assert ALICE not in listed


@pytest.mark.parametrize("deleted", [False, True])
def test_the_history_names_the_operator_who_closed_it(olga: Client, alice: Wallet, deleted: bool) -> None:
    close(olga, alice)
    operator = User.objects.get(username="olga").pk
    if deleted:
        User.objects.filter(pk=operator).delete()

    sweeping.sweep(now=timezone.now() + timedelta(days=1))

    assert StatusEvent.objects.get().actor == (f"operator {operator}" if deleted else "olga")


def test_an_operator_or_the_holder_keeps_it(
    olga: Client, client: Client, alice: Wallet, sign_in: SignIn
) -> None:
    close(olga, alice)
    assert "/do/keep/" in olga.get(address(alice)).content.decode()
    assert operate(olga, alice, "keep").status_code == 302
    close(olga, alice)
    sign_in(alice)
    client.post("/wallet/close/keep/")

    facts = WalletClosure.objects.order_by("asked_at")
    assert [fact.undone_by for fact in facts] == [User.objects.get(username="olga").pk, None]
    closing = AuditLine.objects.filter(action__in=("close", "keep")).order_by("seq")
    actions = closing.values_list("action", flat=True)
    assert list(actions) == ["close", "keep", "close"]
    sweeping.sweep(now=timezone.now() + timedelta(days=3))
    alice.refresh_from_db()
    assert (alice.closes_at, alice.closed_at) == (None, None)


def test_a_suspended_wallet_is_closed_and_its_holder_cannot_undo_it(
    olga: Client, client: Client, alice: Wallet, sign_in: SignIn
) -> None:
    suspension.suspend(alice, actor="olga", reason="Stolen", now=timezone.now())
    close(olga, alice, "abuse")
    sign_in(alice)

    assert client.post("/wallet/close/keep/").headers["Location"] == "/wallet/sign-in/"
    sweeping.sweep(now=timezone.now() + timedelta(days=1))
    assert Wallet.objects.get().closed_at is not None
    page = olga.get(address(alice)).content.decode()
    for name in ("suspend", "reinstate", "close", "keep"):
        assert f"/do/{name}/" not in page


def test_auditors_read_and_do_not_close(audrey: Client, olga: Client, alice: Wallet) -> None:
    assert close(audrey, alice).status_code == 403
    assert audrey.get(address(alice, "do", "close")).status_code == 403
    assert audrey.get("/admin/wallet/walletclosure/").status_code == 200
    assert not WalletClosure.objects.exists()


def test_a_second_click_changes_nothing(olga: Client, alice: Wallet) -> None:
    close(olga, alice)

    again = olga.post(address(alice, "do", "close"), {"reason": "legal"}, follow=True)

    assert "cannot be done any more" in again.content.decode()
    assert WalletClosure.objects.get().reason == "asked_us"
    assert AuditLine.objects.filter(action="close").count() == 1
