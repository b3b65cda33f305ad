"""Closing against what else may happen at the same moment, on PostgreSQL."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone

from infra.operations import WrongStateError
from presentation.models import Interaction, RelyingParty
from tests.people import ALICE
from tests.presentation.requests.authorization_requests import fragment
from tests.presentation.requests.deciding import ask, decide
from tests.wallet.conftest import code_in, together
from wallet.account.closing import closures, sweeping
from wallet.models import HolderSession, StatusEntry, Wallet, WalletClosure

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgresql]
DAY = timedelta(days=1)
ROUNDS = range(4)


def beside(*works: Callable[[], Any]) -> list[Any]:
    """The results or errors of these, each in two threads at once."""
    return together(lambda number: works[number % len(works)](), 2 * len(works))


@pytest.mark.parametrize("turn", ROUNDS)
def test_keeping_it_and_the_sweep_never_both_win(alice: Wallet, turn: int) -> None:
    now = timezone.now()
    closures.ask(alice, now=now - DAY)

    results = beside(lambda: closures.undo(alice, now=now), lambda: sweeping.sweep(now=now))

    wallet, fact = Wallet.objects.get(id=alice.id), WalletClosure.objects.get()
    undone = [result for result in results if isinstance(result, WalletClosure)]
    refused = [result for result in results if isinstance(result, WrongStateError)]
    assert len(undone) + len(refused) == 2
    assert len(undone) == (fact.undone_at is not None)
    assert (wallet.closed_at is None) is (fact.undone_at is not None)
    assert (fact.closed_at is None) is (fact.undone_at is not None)
    assert (wallet.email == ALICE) is (fact.undone_at is not None)


@pytest.mark.parametrize("turn", ROUNDS)
def test_of_many_who_close_it_at_once_one_does(alice: Wallet, turn: int) -> None:
    now = timezone.now()

    results = beside(lambda: closures.ask(alice, now=now))

    assert sum(isinstance(result, WrongStateError) for result in results) == 1
    assert WalletClosure.objects.count() == 1


def test_of_many_sweeps_at_once_each_step_happens_once(alice: Wallet) -> None:
    now = timezone.now()
    closures.ask(alice, now=now - DAY)

    results = together(lambda _: sweeping.sweep(now=now))

    assert sum(result["closed wallets"] for result in results) == 1
    sweeping.sweep(now=now)
    assert [message.subject for message in mail.outbox].count("Your wallet is closed") == 1


@pytest.mark.parametrize("turn", ROUNDS)
def test_a_sign_in_beside_the_sweep_meets_the_old_wallet_or_a_new_one_never_a_mixture(
    alice: Wallet, turn: int
) -> None:
    browser, now = Client(), timezone.now()
    to = browser.post("/wallet/sign-in/", {"email": ALICE}).headers["Location"]
    code = code_in(str(mail.outbox[-1].body))
    closures.ask(alice, now=now - DAY)

    answered, _swept = together(
        lambda number: sweeping.sweep(now=now) if number else browser.post(to, {"code": code}), 2
    )

    assert answered.status_code in (200, 303, 410, 404), answered.content
    assert Wallet.objects.get(id=alice.id).closed_at is not None
    seen = browser.get("/wallet/history/")
    if seen.status_code == 200:  # in a wallet of its own
        assert HolderSession.objects.filter(wallet__email=ALICE).count() == 1
        assert Wallet.objects.get(email=ALICE).id != alice.id
    else:
        assert seen.headers["Location"] == "/wallet/sign-in/"
    sweeping.sweep(now=now + timedelta(hours=2))
    assert not Wallet.objects.filter(id=alice.id).exists()


@pytest.mark.parametrize("turn", ROUNDS)
@pytest.mark.parametrize("ends", ["asked", "closed"])
def test_a_decision_beside_it_never_leaves_a_valid_token_of_a_closed_wallet(
    holder: Client, alice: Wallet, acme_bank: RelyingParty, signing_key: Any, turn: int, ends: str
) -> None:
    page, now = ask(holder, acme_bank), timezone.now()
    onwards = decide(holder, page)
    if ends == "closed":
        Wallet.objects.filter(id=alice.id).update(closes_at=None)

    def end() -> Any:
        if ends == "asked":
            return closures.ask(alice, now=now)
        closures.ask(alice, now=now - DAY)
        return sweeping.sweep(now=now)

    answered, _ended = together(lambda number: end() if number else holder.get(onwards), 2)

    entries = StatusEntry.objects.filter(reference__isnull=False)
    if answered.status_code == 303 and "vp_token" in answered.headers["Location"]:
        assert "vp_token" in fragment(answered.headers["Location"])
        invalid = entries.filter(status=StatusEntry.Status.INVALID).count()
        assert invalid == (1 if ends == "closed" else 0)
    else:
        assert answered.status_code in (303, 410, 404)
        assert not entries.filter(status=StatusEntry.Status.VALID).exists()
    if ends == "closed":
        assert not Interaction.objects.filter(outcome="").exists()
        assert not entries.filter(status=StatusEntry.Status.VALID).exists()
