"""What is deleted of expired presented credentials, and that their indexes stay taken."""

from datetime import timedelta
from io import StringIO
from typing import Any, NamedTuple
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from tests.wallet.conftest import together
from tests.wallet.statuses import SAID, presented, small_lists
from wallet.models import StatusEntry, StatusList, Wallet
from wallet.status_lists import changes, upkeep
from wallet.status_lists.changes import Action

pytestmark = pytest.mark.usefixtures("signing_key")


def end(*entries: StatusEntry, ago: timedelta = timedelta(hours=2)) -> None:
    ids = [entry.pk for entry in entries]
    StatusEntry.objects.filter(pk__in=ids).update(expires_at=timezone.now() - ago)


class Swept(NamedTuple):
    """How many expired credentials were blanked, and how many lists were retired."""

    forgotten: int
    retired: int


def sweep(*, batch: int = 2) -> Swept:
    now = timezone.now()
    forgotten = upkeep.blank_ended(now=now, batch=batch)
    return Swept(forgotten, upkeep.retire_closed(now=now, batch=batch))


def close(*, ago: timedelta) -> None:
    StatusList.objects.filter(closed_at=None).update(closed_at=timezone.now() - ago)


def test_of_an_expired_credential_only_the_used_index_stays(alice: Wallet) -> None:
    ended = [presented(alice, reference=uuid4()) for _ in range(5)]
    living = presented(alice, reference=uuid4())
    changes.change_presented(ended[0], Action.INVALIDATED, now=timezone.now(), **SAID)
    end(*ended)

    assert sweep() == Swept(forgotten=5, retired=0)

    for entry in ended:
        before = (entry.status_list_id, entry.idx)
        entry.refresh_from_db()
        assert (entry.status_list_id, entry.idx) == before
        blank = (entry.credential, entry.signing_key, entry.reference, entry.expires_at, entry.status)
        assert blank == (None, None, None, None, 0)
    living.refresh_from_db()
    assert living.reference is not None
    assert sweep() == Swept(0, 0)


def test_what_has_ended_just_now_is_kept_for_clocks_that_are_behind(alice: Wallet) -> None:
    end(presented(alice), ago=timedelta(minutes=59))

    assert sweep().forgotten == 0


def test_it_runs_in_batches_and_an_interruption_loses_only_the_last(alice: Wallet) -> None:
    end(*[presented(alice) for _ in range(7)])
    close(ago=timedelta(hours=2))
    updates: list[str] = []

    def stopped(execute: Any, sql: str, *more: Any) -> Any:
        if sql.startswith("UPDATE"):
            updates.append(sql)
        if len(updates) == 3:
            raise KeyboardInterrupt
        return execute(sql, *more)

    with pytest.raises(KeyboardInterrupt), connection.execute_wrapper(stopped):
        sweep(batch=3)

    assert StatusEntry.objects.filter(expires_at=None).count() == 6
    assert sweep(batch=3) == Swept(forgotten=1, retired=2)
    assert not StatusEntry.objects.exists()


def test_a_used_index_is_not_allocated_again(alice: Wallet) -> None:
    small_lists(8)
    spent = set()
    for _ in range(6):
        entry = presented(alice)
        spent.add((entry.status_list_id, entry.idx))
        end(entry)
        sweep()
    later = {(entry.status_list_id, entry.idx) for entry in (presented(alice) for _ in range(6))}

    assert len(spent) == 6
    assert not spent & later


def test_a_closed_list_goes_when_its_last_credential_has_ended(alice: Wallet) -> None:
    small_lists(64)
    entries = [presented(alice) for _ in range(6)]
    last = entries[0].status_list_id
    close(ago=timedelta(hours=2))
    upkeep.keep_open(now=timezone.now())
    end(*entries[1:])

    # The other closed list is empty, whichever list each credential was allocated in.
    assert sweep() == Swept(forgotten=5, retired=1)
    assert StatusEntry.objects.get() == entries[0]
    assert StatusList.objects.get(pk=last).retired_at is None

    end(entries[0])
    assert sweep() == Swept(forgotten=1, retired=1)
    assert not StatusEntry.objects.exists()
    assert StatusList.objects.filter(retired_at=None).count() == 2


def test_a_list_that_was_closed_just_now_is_not_retired_yet(alice: Wallet) -> None:
    presented(alice)
    end(*StatusEntry.objects.all())
    close(ago=timedelta(minutes=59))

    assert sweep() == Swept(forgotten=1, retired=0)


def test_an_open_list_is_never_retired(alice: Wallet) -> None:
    upkeep.keep_open(now=timezone.now())

    assert sweep() == Swept(0, 0)


def test_the_hourly_command_sweeps_and_keeps_lists_open(alice: Wallet) -> None:
    end(presented(alice))
    close(ago=timedelta(hours=2))
    out = StringIO()

    call_command("clear_expired", stdout=out)

    assert "1 presented credentials, 2 status lists" in out.getvalue()
    assert StatusList.objects.filter(closed_at=None).count() == 2


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_many_sweeps_at_once_do_each_thing_once(alice: Wallet) -> None:
    entries = [presented(alice) for _ in range(30)]
    end(*entries)
    close(ago=timedelta(hours=2))

    results = together(lambda number: sweep(batch=3))

    assert all(isinstance(result, Swept) for result in results), results
    assert sum(result.forgotten for result in results) == 30
    assert not StatusEntry.objects.exists()
    assert sum(result.retired for result in results) == 2
