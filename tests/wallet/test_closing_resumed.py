"""A closing that broke off is finished by the next sweep, whatever had been done."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.core import mail
from django.utils import timezone

from infra import personal_data
from tests.emails import send_waiting
from tests.petronella import DAY, PERSON, closed, in_the_database
from wallet.account.closing import closures, sweeping
from wallet.models import StatusEntry, Wallet, WalletClosure

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("signing_key"), pytest.mark.slow]


class PowerCut(BaseException):
    """Stands for a process that ends."""


def cut(
    eraser: Callable[..., int], before: bool, failure: type[BaseException] = PowerCut
) -> Callable[..., int]:
    def erase(*args: Any, **kwargs: Any) -> int:
        if not before:
            eraser(*args, **kwargs)
        raise failure

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
        with pytest.raises(PowerCut):
            sweeping.sweep(now=then)
    assert Wallet.objects.get().closed_at == then
    assert in_the_database(PERSON) != {}

    sweeping.sweep(now=then + timedelta(minutes=10), batch=1)
    StatusEntry.objects.update(credential=None, signing_key=None, expires_at=None, reference=None, status=0)
    sweeping.sweep(now=then + DAY, batch=1)

    assert in_the_database(PERSON) == {}
    assert WalletClosure.objects.get().finished_at is not None


@pytest.mark.parametrize("number", range(6))
def test_what_cannot_be_erased_keeps_neither_the_rest_nor_the_row_from_being_tried_again(
    petronella: Wallet, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    erasers, ran = list(personal_data.erasers()), list[int]()
    then = timezone.now() + DAY
    closures.ask(petronella, now=then - DAY)

    def counted(position: int, *args: Any, **kwargs: Any) -> int:
        ran.append(position)
        return cut(erasers[position], True, ValueError)() if position == number else 0

    broken = tuple(partial(counted, position) for position in range(6))
    monkeypatch.setattr(personal_data, "erasers", lambda: broken)
    sweeping.sweep(now=then)

    assert set(ran) == set(range(6))
    sweeping.sweep(now=then + DAY)
    assert WalletClosure.objects.get().finished_at is None
    assert Wallet.objects.exists()


def test_it_can_be_swept_any_number_of_times(petronella: Wallet) -> None:
    closed(petronella)
    before = WalletClosure.objects.values().get()

    for hours in range(3):
        sweeping.sweep(now=timezone.now() + 3 * DAY + timedelta(hours=hours))

    assert WalletClosure.objects.values().get() == before
    assert [message.subject for message in mail.outbox].count("Your wallet is closed") == 1


def test_without_a_mail_server_everything_is_erased_and_the_email_follows(
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

    send_waiting()

    assert mail.outbox[-1].subject == "Your wallet is closed"
