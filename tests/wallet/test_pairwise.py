"""The number by which a sector recognises a holder: one for each wallet and sector, until it is forgotten."""

import base64
import hashlib
import hmac
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from infra.sealing import SealError, seal_column, unseal_column
from tests.people import ALICE, enroll
from tests.wallet.conftest import together
from tests.wallet.recovering import recover, verify, wait
from wallet.account import pairwise
from wallet.account.address import changes
from wallet.account.closing import closures
from wallet.credential.credentials import CredentialNotUsableError
from wallet.models import Subject, Wallet, WalletClosure

ACME, SHOP = "acme-bank", "corner-shop"


def test_one_wallet_and_one_sector_have_one_number_and_others_have_others(
    alice: Wallet, bob: Wallet, now: datetime
) -> None:
    found = {
        (wallet, sector): pairwise.of(wallet, sector, now=now)
        for wallet in (alice, bob)
        for sector in (ACME, SHOP)
    }

    assert len(set(found.values())) == 4
    assert all(len(number) == 43 for number in found.values())
    again = Wallet.objects.get(id=alice.id)
    assert pairwise.of(again, ACME, now=now + timedelta(days=900)) == found[alice, ACME]


def test_it_is_the_hash_of_the_sector_under_a_seed_that_nobody_else_has(
    alice: Wallet, bob: Wallet, now: datetime
) -> None:
    seeds = set()
    for wallet, sector in ((alice, ACME), (alice, SHOP), (bob, ACME)):
        number = pairwise.of(wallet, sector, now=now)
        seed = unseal_column(Subject.objects.get(wallet=wallet, sector=sector), "sealed_seed")
        digest = hmac.new(seed, sector.encode(), hashlib.sha256).digest()
        assert number == base64.urlsafe_b64encode(digest).decode().rstrip("=")
        seeds.add(seed)
    assert {len(seed) for seed in seeds} == {32}
    assert len(seeds) == 3


@given(
    st.binary(min_size=32, max_size=32), st.text(min_size=1, max_size=100), st.text(min_size=1, max_size=100)
)
def test_no_two_sectors_share_a_number_even_if_they_shared_a_seed(seed: bytes, one: str, two: str) -> None:
    numbers = []
    for sector in (one, two):
        row = Subject(sector=sector)
        row.sealed_seed = seal_column(row, "sealed_seed", seed)
        numbers.append(pairwise.number(row))
    assert (numbers[0] == numbers[1]) is (one == two)


def test_asking_for_what_is_known_makes_nothing(alice: Wallet, now: datetime) -> None:
    assert pairwise.existing_number(alice, ACME) == ""
    assert not pairwise.is_used(ACME)

    number = pairwise.of(alice, ACME, now=now)

    assert pairwise.existing_number(alice, ACME) == number
    assert pairwise.is_used(ACME)
    assert not pairwise.is_used(SHOP)
    assert pairwise.existing_number(alice, SHOP) == ""


def test_who_has_it_forgotten_is_somebody_new_to_that_sector_alone(
    alice: Wallet, bob: Wallet, now: datetime
) -> None:
    before = {
        (wallet, sector): pairwise.of(wallet, sector, now=now)
        for wallet in (alice, bob)
        for sector in (ACME, SHOP)
    }

    pairwise.reset(alice, ACME)

    assert not pairwise.is_used(ACME, wallet=alice)
    after = {each: pairwise.of(*each, now=now) for each in before}
    assert {each for each in before if before[each] != after[each]} == {(alice, ACME)}


def test_a_seed_whose_key_is_lost_is_made_anew_once_an_operator_gave_it_up(
    alice: Wallet, now: datetime
) -> None:
    before = pairwise.of(alice, ACME, now=now)
    Subject.objects.update(sealed_seed=b"\x01" + bytes(60))
    with pytest.raises(SealError):
        pairwise.of(alice, ACME, now=now)

    Subject.objects.update(sealed_seed=b"")  # as `manage.py reseal` does

    assert pairwise.existing_number(alice, ACME) == ""
    assert pairwise.of(alice, ACME, now=now) not in ("", before)
    assert Subject.objects.count() == 1


def test_a_sealed_seed_opens_in_no_other_row(alice: Wallet, bob: Wallet, now: datetime) -> None:
    for wallet in (alice, bob):
        pairwise.of(wallet, ACME, now=now)
    Subject.objects.filter(wallet=bob).update(sealed_seed=Subject.objects.get(wallet=alice).sealed_seed)

    with pytest.raises(SealError):
        pairwise.of(bob, ACME, now=now)


# --- What becomes of it -----------------------------------------------------------------------------------


def test_it_stays_when_the_address_changes_and_the_identity_is_renewed(alice: Wallet, now: datetime) -> None:
    before = pairwise.of(alice, ACME, now=now)

    changes.set_address(alice, "alice@elsewhere.example", now=now)
    verify(alice, now)

    assert pairwise.of(Wallet.objects.get(email="alice@elsewhere.example"), ACME, now=now) == before


def test_a_wallet_that_moves_takes_both_along_and_where_both_have_one_that_of_the_old_wallet_stays(
    old: Wallet,
    new: Wallet,
    now: datetime,
) -> None:
    kept, only_old = (pairwise.of(old, sector, now=now) for sector in (ACME, SHOP))
    lost, only_new = (pairwise.of(new, sector, now=now) for sector in (ACME, "library"))
    assert recover(new, now).state == "waiting"

    wait(now)

    moved = Wallet.objects.get()
    assert moved.id == old.id
    assert [pairwise.existing_number(moved, sector) for sector in (ACME, SHOP, "library")] == [
        kept,
        only_old,
        only_new,
    ]
    assert lost not in (kept, only_new)
    assert Subject.objects.count() == 3


def test_a_wallet_that_was_closed_has_none_and_the_next_wallet_of_the_person_is_somebody_new(
    alice: Wallet, bob: Wallet, now: datetime
) -> None:
    before, of_bob = (pairwise.of(wallet, ACME, now=now) for wallet in (alice, bob))
    closures.ask(alice, now=now)
    assert pairwise.existing_number(alice, ACME) == before

    assert closures.close(WalletClosure.objects.get(), now=now + timedelta(days=2))

    assert Subject.objects.filter(wallet=alice).count() == 0
    with pytest.raises(CredentialNotUsableError):
        pairwise.of(alice, ACME, now=now)
    again = enroll(ALICE, given_name="Alice", family_name="Archer", birth_date=date(1990, 4, 1))
    assert pairwise.of(again, ACME, now=now) != before
    assert pairwise.existing_number(bob, ACME) == of_bob


def test_a_wallet_that_is_gone_gets_none(alice: Wallet, now: datetime) -> None:
    gone = Wallet(email="gone@example.org", created_at=now)

    with pytest.raises(CredentialNotUsableError):
        pairwise.of(gone, ACME, now=now)
    assert not Subject.objects.exists()


# --- Races ------------------------------------------------------------------------------------------------


def _first(wallet: Wallet, sector: str, now: datetime, _number: int) -> str:
    return pairwise.of(Wallet.objects.get(id=wallet.id), sector, now=now)


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_all_that_ask_for_the_first_time_at_once_get_the_same(alice: Wallet, now: datetime) -> None:
    for turn in range(5):
        sector = f"{ACME}-{turn}"
        found = together(partial(_first, alice, sector, now), 8)
        assert len(set(found)) == 1
        assert found[0] == pairwise.existing_number(alice, sector)
    assert Subject.objects.count() == 5


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_who_asks_while_it_is_forgotten_gets_a_number_and_no_error(alice: Wallet, now: datetime) -> None:
    def act(number: int) -> Any:
        if number % 2:
            return pairwise.reset(alice, ACME)
        return pairwise.of(alice, ACME, now=now)

    for _ in range(10):
        found = together(act, 6)
        assert not [each for each in found if isinstance(each, Exception)]
        assert len([each for each in found if each]) == 3
        assert Subject.objects.count() <= 1


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_a_wallet_that_closes_at_the_same_time_keeps_none(alice: Wallet, now: datetime) -> None:
    closures.ask(alice, now=now)

    def act(number: int) -> Any:
        if number:
            return pairwise.of(alice, ACME, now=now)
        return closures.close(WalletClosure.objects.get(), now=now + timedelta(days=2))

    together(act, 6)

    assert Wallet.objects.get().closed_at
    assert not Subject.objects.exists()
    assert connection.vendor == "postgresql"
