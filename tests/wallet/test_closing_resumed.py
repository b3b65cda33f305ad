"""A closing that broke off is finished by the next sweep, whatever had been done."""

# ruff: noqa: F811  (fixtures of another module)

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.utils import timezone

from infra import personal_data
from infra.mail import at_once
from tests.test_nothing_is_left import DAY, PERSON, bank, closed, in_the_database, petronella  # noqa: F401
from tests.wallet.providers.test_stripe_identity import begun, play, refreshed  # noqa: F401
from wallet.account.closing import closures, sweeping
from wallet.account.closing.sweeping import LEASE
from wallet.models import IdentityVerification, StatusEntry, Wallet, WalletClosure

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("signing_key")]


class PowerCutError(Exception):
    """Stands for a process that ends."""


def cut(eraser: Callable[..., int], before: bool) -> Callable[..., int]:
    def erase(*args: Any, **kwargs: Any) -> int:
        if not before:
            eraser(*args, **kwargs)
        raise PowerCutError

    return erase


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("number", range(6))
def test_it_goes_on_wherever_it_broke_off(
    petronella: Wallet, monkeypatch: pytest.MonkeyPatch, number: int, before: bool
) -> None:
    erasers = list(personal_data.erasers())
    assert len(erasers) == 6
    then = timezone.now() + DAY
    closures.ask(petronella, now=then - DAY)
    with monkeypatch.context() as patched:
        broken = [*erasers[:number], cut(erasers[number], before), *erasers[number + 1 :]]
        patched.setattr(personal_data, "erasers", lambda: tuple(broken))
        sweeping.sweep(now=then)
    assert Wallet.objects.get().closed_at == then
    assert in_the_database(PERSON) != {}

    sweeping.sweep(now=then + LEASE, batch=1)
    StatusEntry.objects.update(credential=None, signing_key=None, expires_at=None, reference=None, status=0)
    sweeping.sweep(now=then + DAY, batch=1)

    assert in_the_database(PERSON) == {}
    assert WalletClosure.objects.get().finished_at is not None


def test_a_lease_of_a_process_that_died_ends(alice: Wallet) -> None:
    then = timezone.now() + DAY
    closure = closures.ask(alice, now=then - DAY)
    closures.close(closure, now=then)
    WalletClosure.objects.update(taken_until=then + LEASE)

    sweeping.sweep(now=then + LEASE / 2)
    assert IdentityVerification.objects.filter(evidence__isnull=False).exists()

    sweeping.sweep(now=then + LEASE)
    assert not IdentityVerification.objects.filter(evidence__isnull=False).exists()


def test_it_can_be_swept_any_number_of_times(petronella: Wallet) -> None:
    closed(petronella)
    before = WalletClosure.objects.values().get()

    for hours in range(3):
        sweeping.sweep(now=timezone.now() + 3 * DAY + timedelta(hours=hours))

    assert WalletClosure.objects.values().get() == before
    assert [letter.subject for letter in mail.outbox].count("Your wallet is closed") == 1


def test_without_a_mail_server_everything_is_erased_and_the_letter_follows(
    alice: Wallet, settings: Any
) -> None:
    settings.EMAILS_SENT_AT_ONCE = False
    then = timezone.now()
    closures.ask(alice, now=then - DAY)
    for hours in (0, 2, 3):
        sweeping.sweep(now=then + timedelta(hours=hours))
    assert not Wallet.objects.exists()
    assert WalletClosure.objects.get().sealed_address is None
    assert mail.outbox == []

    at_once.send_waiting()

    assert [letter.subject for letter in mail.outbox] == ["Your wallet is closed"]
