"""A closing that broke off is finished by the next sweep, whatever had been done."""

# ruff: noqa: F811  (fixtures of another module)

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.utils import timezone

from infra import personal_data
from tests.test_nothing_is_left import DAY, PERSON, bank, closed, in_the_database, petronella  # noqa: F401
from tests.wallet.providers.test_stripe_identity import begun, play, refreshed  # noqa: F401
from wallet.account.closing import closures, sweeping
from wallet.account.closing.sweeping import LATE, LEASE
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
@pytest.mark.parametrize("number", range(5))
def test_it_goes_on_wherever_it_broke_off(
    petronella: Wallet, monkeypatch: pytest.MonkeyPatch, number: int, before: bool
) -> None:
    erasers = list(personal_data.erasers())
    assert len(erasers) == 5
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


def test_without_a_mail_server_everything_else_is_erased_and_the_letter_follows(
    alice: Wallet, settings: Any
) -> None:
    then = timezone.now() + DAY
    closures.ask(alice, now=then - DAY)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("django.core.mail.backends.locmem.EmailBackend.open", _refuse, raising=False)
        sweeping.sweep(now=then)
        sweeping.sweep(now=then + timedelta(hours=2))
    assert WalletClosure.objects.get().notice_due == "closed"
    assert not IdentityVerification.objects.filter(evidence__isnull=False).exists()

    sweeping.sweep(now=then + timedelta(hours=3))
    sweeping.sweep(now=then + timedelta(hours=4))

    assert [letter.subject for letter in mail.outbox] == ["Your wallet is closed"]
    assert not Wallet.objects.exists()
    assert WalletClosure.objects.get().sealed_address is None


def test_after_a_week_a_letter_that_cannot_be_sent_is_given_up(alice: Wallet) -> None:
    then = timezone.now() + DAY
    closures.ask(alice, now=then - DAY)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("django.core.mail.backends.locmem.EmailBackend.open", _refuse, raising=False)
        sweeping.sweep(now=then)
        sweeping.sweep(now=then + LATE)
        sweeping.sweep(now=then + LATE + timedelta(hours=1))

    assert WalletClosure.objects.get().finished_at is not None
    assert not Wallet.objects.exists()


def _refuse(self: Any) -> None:
    raise ConnectionRefusedError


def test_the_provider_erases_too_and_the_row_waits_for_it(begun: Any, play: Any, now: Any) -> None:
    verification, address = begun
    play.person_ends(verification, address, "verified")
    refreshed(verification, now)
    wallet = Wallet.objects.get(id=verification.wallet_id)
    closures.ask(wallet, now=now - DAY)

    sweeping.sweep(now=now)

    assert play.server.sessions[verification.provider_reference]["redaction"]
    sweeping.sweep(now=now + timedelta(hours=2))
    assert not Wallet.objects.exists()


def test_an_open_check_is_ended_and_erased_at_the_provider(begun: Any, play: Any, now: Any) -> None:
    verification, _address = begun
    closures.ask(Wallet.objects.get(id=verification.wallet_id), now=now - DAY)

    sweeping.sweep(now=now)

    assert play.server.sessions[verification.provider_reference]["redaction"]
    assert not IdentityVerification.objects.exists()


def test_while_the_provider_is_away_only_its_reference_stays(begun: Any, play: Any, now: Any) -> None:
    verification, address = begun
    play.person_ends(verification, address, "verified")
    refreshed(verification, now)
    closures.ask(Wallet.objects.get(id=verification.wallet_id), now=now - DAY)

    with play.server.down():
        sweeping.sweep(now=now)
        sweeping.sweep(now=now + timedelta(hours=2))

    kept = IdentityVerification.objects.get()
    assert (kept.kept_by_provider, kept.sealed_memory, kept.sealed_claims) == (True, None, None)
    assert kept.provider_reference == verification.provider_reference
    sweeping.sweep(now=now + timedelta(hours=3))
    sweeping.sweep(now=now + timedelta(hours=4))
    assert not IdentityVerification.objects.exists()
