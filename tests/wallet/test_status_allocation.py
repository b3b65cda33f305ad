"""Allocation of status entries: random, never reused, in one statement, and not after a revocation."""

import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from struct import pack
from typing import Any
from uuid import uuid4

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from keys.issuer_key import active_issuer_key
from keys.models import SigningKey
from keys.rotation import due_steps, transitions
from tests.people import enroll
from tests.wallet.conftest import together
from tests.wallet.statuses import (
    INVALID,
    SAID,
    SUSPENDED,
    entry_of,
    place_in,
    present,
    presented,
    small_lists,
)
from wallet.credential import credentials, revocation
from wallet.models import Credential, StatusEntry, StatusList, Wallet
from wallet.operations import suspension
from wallet.status_lists import allocation, statuses, upkeep

pytestmark = pytest.mark.usefixtures("signing_key")


def take(wallet: Wallet, kid: str = "") -> tuple[int, int]:
    now = timezone.now()
    kid = kid or active_issuer_key(now=now).kid
    expires_at = now + timedelta(hours=24)
    return allocation.take(wallet.credential, kid=kid, reference=None, expires_at=expires_at, now=now)


def fill(row: StatusList, count: int) -> None:
    """Insert blank entries into a list."""
    taken = set(row.entries.values_list("idx", flat=True))
    free = [idx for idx in range(row.size) if idx not in taken][:count]
    StatusEntry.objects.bulk_create([StatusEntry(status_list=row, idx=idx) for idx in free])


def test_an_entry_stores_its_credential_signing_key_and_reference(
    alice: Wallet, signing_key: SigningKey
) -> None:
    reference, now = uuid4(), timezone.now()

    entry = entry_of(present(alice, reference=reference, now=now))

    assert (entry.credential, entry.signing_key) == (alice.credential, signing_key)
    assert (entry.reference, entry.status) == (reference, StatusEntry.Status.VALID)
    assert entry.expires_at == now + timedelta(hours=24)


def test_places_are_spread_over_two_whole_lists(alice: Wallet) -> None:
    places = [take(alice) for _ in range(100)]

    assert len(set(places)) == 100
    assert {list_id for list_id, _idx in places} == set(StatusList.objects.values_list("id", flat=True))
    indexes = sorted(idx for _list, idx in places)
    assert indexes[0] < 2**17
    assert indexes[-1] >= 2**20 - 2**17
    steps = {later - earlier for earlier, later in zip(indexes, indexes[1:], strict=False)}
    assert len(steps) > 50  # the indexes are not in a simple order


def test_a_place_is_taken_in_one_statement_also_in_lists_that_are_almost_half_full(
    alice: Wallet, statements: Any
) -> None:
    for row in small_lists(1024):
        fill(row, 400)  # at 500 one draw in 65,536 would need a second statement
    kid = active_issuer_key(now=timezone.now()).kid
    with statements() as asked:
        for _ in range(10):
            take(alice, kid)

    assert len(asked.texts) == 10
    assert all("INSERT INTO wallet_statusentry" in text for text in asked.texts)


def test_a_list_of_which_every_place_but_one_is_taken_gives_the_last(alice: Wallet) -> None:
    for row in small_lists(8):
        StatusList.objects.filter(pk=row.pk).update(closed_at=timezone.now())
    free = StatusList.objects.create(slot=0, size=8, opened_at=timezone.now())
    full = StatusList.objects.create(slot=1, size=8, opened_at=timezone.now())
    fill(full, 8)
    fill(free, 7)
    key = active_issuer_key(now=timezone.now()).kid
    places = {place for _ in range(200) if (place := allocation._take(alice.credential, key, None, NOON))}

    assert places == {(free.pk, 7)}
    assert StatusEntry.objects.filter(status_list=free).count() == 8


NOON = datetime(2027, 1, 1, 12, tzinfo=timezone.get_default_timezone())


def test_of_the_places_drawn_the_first_free_one_is_taken(
    alice: Wallet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No query plan may prefer some indexes, which would make them predictable."""
    small_lists(64)
    drawn = [41, 7, 63, 0, 12, 55, 3, 30, 18, 9, 60, 25, 1, 49, 36, 22]
    monkeypatch.setattr(allocation.secrets, "token_bytes", lambda size: pack("16I", *(2 * n for n in drawn)))
    monkeypatch.setattr(allocation.secrets, "choice", lambda slots: slots[1])

    assert [idx for _list, idx in (take(alice) for _ in drawn)] == drawn


@pytest.mark.parametrize("still_open", [0, 1, 2])
def test_a_slot_that_is_empty_just_now_is_filled_on_the_way(alice: Wallet, still_open: int) -> None:
    for row in small_lists(8)[still_open:]:
        StatusList.objects.filter(pk=row.pk).update(closed_at=timezone.now())

    for _ in range(8):
        list_id, _idx = take(alice)
        assert StatusList.objects.filter(pk=list_id, closed_at=None).exists()


def test_full_lists_are_closed_and_new_ones_opened_on_the_way(alice: Wallet) -> None:
    before = small_lists(8)
    for row in before:
        fill(row, 8)

    list_id, _idx = take(alice)

    assert list_id not in {row.pk for row in before}
    assert StatusList.objects.filter(closed_at=None).count() == 2
    assert not StatusList.objects.filter(pk__in=[row.pk for row in before], closed_at=None).exists()


def test_a_place_cannot_be_given_twice_whatever_the_code_does(alice: Wallet) -> None:
    entry = presented(alice)

    with pytest.raises(IntegrityError, match=r"given_once|UNIQUE"), transaction.atomic():
        StatusEntry.objects.create(status_list=entry.status_list, idx=entry.idx)


@pytest.mark.parametrize("move", [revocation.revoke, revocation.suspend])
def test_after_a_revocation_no_place_is_given(alice: Wallet, move: Any) -> None:
    upkeep.keep_open(now=timezone.now())  # free entries exist, so the revocation is the reason
    as_read_before = Wallet.objects.select_related("credential").get()
    move(alice.credential, now=timezone.now(), **SAID)

    with pytest.raises(credentials.CredentialNotUsableError):
        present(as_read_before)

    assert not StatusEntry.objects.exists()


def test_from_a_suspended_wallet_no_place_is_given(alice: Wallet) -> None:
    upkeep.keep_open(now=timezone.now())
    as_read_before = Wallet.objects.select_related("credential").get()
    suspension.suspend(alice, now=timezone.now(), **SAID)

    with pytest.raises(credentials.CredentialNotUsableError):
        present(as_read_before)

    assert not StatusEntry.objects.exists()


def test_a_key_that_has_moved_on_signs_nothing_more(alice: Wallet, signing_key: SigningKey) -> None:
    upkeep.keep_open(now=timezone.now())
    kid = active_issuer_key(now=timezone.now()).kid
    transitions.withdraw(kid, reason="stolen", now=timezone.now())

    with pytest.raises(allocation.KeyMovedOnError):
        take(alice, kid)

    assert not StatusEntry.objects.exists()


def test_a_presentation_begun_with_the_old_key_is_signed_by_the_new_one(
    alice: Wallet, signing_key: SigningKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = timezone.now()
    remembered = active_issuer_key(now=now)
    transitions.withdraw(signing_key.pk, reason="stolen", now=now)
    due_steps.rotate(now=now)

    def remembering(*, now: datetime, fresh: bool = False) -> Any:
        return active_issuer_key(now=now, fresh=True) if fresh else remembered

    monkeypatch.setattr(credentials, "active_issuer_key", remembering)
    entry = presented(alice)

    assert entry.signing_key.state == SigningKey.State.ACTIVE
    assert StatusEntry.objects.count() == 1


# --- Opening and closing ----------------------------------------------------------------------------------


def test_two_lists_are_open_from_the_first_day(db: None) -> None:
    assert upkeep.keep_open(now=timezone.now()) == (0, 2)
    assert upkeep.keep_open(now=timezone.now()) == (0, 0)
    assert [row.size for row in StatusList.objects.all()] == [2**20, 2**20]


@pytest.mark.parametrize(("taken", "closed"), [(31, 0), (32, 1), (40, 1)])
def test_a_list_is_closed_when_it_is_half_full_and_another_takes_its_slot(taken: int, closed: int) -> None:
    full, other = small_lists(64)
    fill(full, taken)

    assert upkeep.keep_open(now=timezone.now()) == (closed, closed)
    full.refresh_from_db()
    assert (full.closed_at is not None) == bool(closed)
    open_slots = StatusList.objects.filter(closed_at=None).order_by("slot").values_list("slot", flat=True)
    assert list(open_slots) == [0, 1]
    assert StatusList.objects.filter(pk=other.pk, closed_at=None).exists()


def test_a_slot_cannot_hold_two_open_lists(db: None) -> None:
    now = timezone.now()
    upkeep.keep_open(now=now)

    with pytest.raises(IntegrityError), transaction.atomic():
        StatusList.objects.create(slot=0, opened_at=now)


# --- Races ------------------------------------------------------------------------------------------------


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_many_at_once_in_small_lists_get_each_their_own_place_and_two_lists_are_always_open() -> None:
    people = [
        enroll(f"p{n}@example.org", given_name="P", family_name="Q", birth_date=datetime(1990, 1, 1).date())
        for n in range(8)
    ]
    small_lists(64)
    finished: list[int] = []
    open_lists: set[int] = set()

    def work(number: int) -> list[tuple[int, int]]:
        if number == len(people):
            while len(finished) < len(people):
                open_lists.add(StatusList.objects.filter(closed_at=None).count())
            return []
        try:
            return [place_in(present(people[number])) for _ in range(40)]
        finally:
            finished.append(number)

    results = together(work, count=9)

    assert all(isinstance(result, list) for result in results), results
    places = [place for result in results for place in result]
    assert len(places) == len(set(places)) == 8 * 40
    assert StatusEntry.objects.count() == 8 * 40
    assert open_lists == {2}
    assert StatusList.objects.count() >= 4  # some were closed meanwhile


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("same", [True, False])
def test_nobody_waits_for_a_presentation_that_is_not_yet_committed(same: bool) -> None:
    first, second = (
        enroll(email, given_name="P", family_name="Q", birth_date=datetime(1990, 1, 1).date())
        for email in ("first@example.org", "second@example.org")
    )
    upkeep.keep_open(now=timezone.now())
    places: list[tuple[int, int]] = []

    def try_it() -> None:
        try:
            places.append(place_in(present(first if same else second)))
        finally:
            connection.close()

    thread = threading.Thread(target=try_it)
    with transaction.atomic():
        places.append(place_in(present(first)))
        thread.start()
        thread.join(timeout=60)
        assert not thread.is_alive()

    assert len(set(places)) == 2


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_many_that_open_lists_at_once_open_two() -> None:
    together(lambda number: upkeep.keep_open(now=timezone.now()))
    first = small_lists(8)
    for row in first:
        fill(row, 4)

    outcomes = together(lambda number: upkeep.keep_open(now=timezone.now()))

    assert all(isinstance(outcome, tuple) for outcome in outcomes), outcomes
    assert StatusList.objects.count() == 4
    assert StatusList.objects.filter(closed_at=None).count() == 2


def revoke_it() -> None:
    revocation.revoke(Credential.objects.get(), now=timezone.now(), **SAID)


def suspend_it() -> None:
    revocation.suspend(Credential.objects.get(), now=timezone.now(), **SAID)


def suspend_its_wallet() -> None:
    suspension.suspend(Wallet.objects.get(), now=timezone.now(), **SAID)


set_aside = pytest.mark.parametrize(
    ("move", "status"),
    [(revoke_it, INVALID), (suspend_it, SUSPENDED), (suspend_its_wallet, SUSPENDED)],
)


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
@set_aside
@pytest.mark.parametrize("rounds", range(2))
def test_a_revocation_among_presentations_leaves_none_valid(
    move: Callable[[], None], status: int, rounds: int
) -> None:
    """Every presentation happened before the revocation, and is invalid after it."""
    enroll("race@example.org", given_name="R", family_name="S", birth_date=datetime(1990, 1, 1).date())
    given: list[tuple[int, int]] = []
    moved = threading.Event()

    def work(number: int) -> None:
        if number == 0:
            while len(given) < 10:
                pass
            move()
            moved.set()
            return
        loaded = Wallet.objects.select_related("credential").get()  # never reloaded, so it still seems valid
        for _ in range(100):
            late = moved.is_set()
            try:
                place = place_in(present(loaded))
            except credentials.CredentialNotUsableError:
                return
            assert not late, "presented after the revocation"
            given.append(place)

    assert not [result for result in together(work) if isinstance(result, Exception)]
    assert len(given) == StatusEntry.objects.count() >= 10
    found = {list_id: statuses.not_valid(list_id, now=timezone.now()) for list_id, _idx in given}
    assert {found[list_id].get(idx) for list_id, idx in given} == {status}


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
@set_aside
def test_a_presentation_waits_for_a_revocation_that_is_not_yet_committed(
    move: Callable[[], None], status: int
) -> None:
    wallet = enroll(
        "race@example.org", given_name="R", family_name="S", birth_date=datetime(1990, 1, 1).date()
    )
    small_lists(64)
    outcome: list[Any] = []

    def try_it() -> None:
        try:
            outcome.append(present(wallet))
        except Exception as error:
            outcome.append(error)
        finally:
            connection.close()

    thread = threading.Thread(target=try_it)
    with transaction.atomic():
        move()
        thread.start()
        thread.join(timeout=1)
        assert thread.is_alive()
    thread.join()

    assert isinstance(outcome[0], credentials.CredentialNotUsableError)
    assert not StatusEntry.objects.exists()


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_a_revocation_waits_for_a_presentation_that_is_not_yet_committed() -> None:
    wallet = enroll(
        "race@example.org", given_name="R", family_name="S", birth_date=datetime(1990, 1, 1).date()
    )

    def revoke() -> None:
        revoke_it()
        connection.close()

    thread = threading.Thread(target=revoke)
    with transaction.atomic():
        place = place_in(present(wallet))
        thread.start()
        thread.join(timeout=1)
        assert thread.is_alive()
    thread.join()

    assert statuses.not_valid(place[0], now=timezone.now()) == {place[1]: INVALID}


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_other_holders_do_not_wait_for_a_revocation() -> None:
    wallet = enroll(
        "race@example.org", given_name="R", family_name="S", birth_date=datetime(1990, 1, 1).date()
    )
    other = enroll(
        "calm@example.org", given_name="C", family_name="D", birth_date=datetime(1990, 1, 1).date()
    )
    small_lists(64)

    with transaction.atomic():
        revocation.revoke(wallet.credential, now=timezone.now(), **SAID)
        (result, *_rest) = together(lambda number: present(other), count=1)

    assert place_in(result)
