"""A silent server occupies few threads of a process, and all such servers together leave one free."""

from collections.abc import Iterator
from contextlib import ExitStack, suppress
from threading import Barrier, Event, Semaphore, Thread
from typing import Any

import pytest

from infra import waiting
from infra.outbound.calls import NotReachedError
from infra.waiting import (
    MOST_FOR_ONE,
    Guard,
    most_for_applications,
    one_at_a_time,
    waiting_for,
    was_refused,
)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(waiting, "QUEUED_FOR", 0.01)
    yield
    assert not waiting._busy, "every slot was released"
    assert not waiting._queued


def taken(called: object) -> bool:
    """Whether a slot was free for a call."""
    with suppress(NotReachedError), waiting_for(called):
        return True
    return False


def test_of_many_calls_to_one_few_are_under_way_at_once(settings: Any) -> None:
    settings.WEB_THREADS = 5
    with waiting_for("slow"), waiting_for("slow"):
        assert not taken("slow")
        assert taken("another")
    assert MOST_FOR_ONE == 2
    assert taken("slow")


def test_all_that_are_slow_together_leave_threads_free() -> None:
    with ExitStack() as held:
        for called in range(most_for_applications()):
            held.enter_context(waiting_for(called))
        assert not taken("another")
    assert taken("another")


def test_a_call_that_fails_releases_its_slot() -> None:
    for _ in range(MOST_FOR_ONE + 1):
        with pytest.raises(ZeroDivisionError), waiting_for("slow"):
            raise ZeroDivisionError


def test_a_call_waits_for_a_slot_that_becomes_free_soon(
    monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.WEB_THREADS = 5
    monkeypatch.setattr(waiting, "QUEUED_FOR", 30)
    with waiting_for("quick"):
        first = waiting_for("quick")
        first.__enter__()
        results: list[bool] = []
        queued = Thread(target=lambda: results.append(taken("quick")))
        queued.start()
        first.__exit__(None, None, None)
        queued.join(timeout=60)
    assert results == [True]


def test_of_a_dozen_threads_that_call_a_silent_far_end_two_are_held() -> None:
    together, answered, refused = Barrier(12), Event(), Event()
    results: list[str] = []

    def call() -> None:
        together.wait()
        try:
            with waiting_for("silent"):
                assert answered.wait(10)
                results.append("held")
        except NotReachedError:
            results.append("refused")
            if len(results) == 10:
                refused.set()

    threads = [Thread(target=call) for _ in range(12)]
    for thread in threads:
        thread.start()
    assert refused.wait(10), "ten are refused while no call has ended yet"
    answered.set()
    for thread in threads:
        thread.join()

    assert (results.count("refused"), results.count("held")) == (10, 2)


def test_one_thread_queues_and_all_others_are_refused_at_once(
    monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.WEB_THREADS = 5
    monkeypatch.setattr(waiting, "QUEUED_FOR", 3600)
    with waiting_for("slow"), waiting_for("slow"):
        queued = Thread(target=lambda: taken("slow"))
        queued.start()
        while not waiting._queued:
            queued.join(timeout=0.01)
        assert not taken("slow")
        assert not taken("another"), "two threads of five are left for pages"
    queued.join(timeout=60)
    assert taken("another")


@pytest.mark.parametrize(("threads", "most"), [(1, 1), (2, 1), (3, 1), (4, 2), (16, 14)])
def test_however_many_threads_a_process_has_two_are_left_for_pages(
    settings: Any, threads: int, most: int
) -> None:
    settings.WEB_THREADS = threads
    with ExitStack() as held:
        for called in range(most):
            held.enter_context(waiting_for(called))
        assert not taken("another")


@pytest.mark.parametrize("threads", [2, 3, 4, 8])
def test_many_threads_at_many_silent_parties_never_hold_the_last_thread(settings: Any, threads: int) -> None:
    settings.WEB_THREADS = threads
    together, answered, refused = Barrier(40), Event(), Semaphore(0)
    held: list[int] = []

    def call(number: int) -> None:
        together.wait()
        try:
            with waiting_for(number % 7):
                held.append(number)
                assert answered.wait(10)
        except NotReachedError:
            refused.release()

    callers = [Thread(target=call, args=(number,)) for number in range(40)]
    for caller in callers:
        caller.start()
    for _ in range(40 - max(1, threads - 2)):
        assert refused.acquire(timeout=60), "these are refused while no call has ended yet"
    answered.set()
    for caller in callers:
        caller.join()

    assert len(held) == max(1, threads - 2)


def test_of_calls_of_one_kind_one_thread_waits_and_the_same_one_may_wait_again() -> None:
    guard, refusals = Guard(), []

    def another() -> None:
        with one_at_a_time(guard):
            refusals.append((taken("another"), was_refused()))

    with one_at_a_time(guard), guard.held(), waiting_for("slow"):
        thread = Thread(target=another)
        thread.start()
        thread.join()
        assert taken("other kinds are not held up")
        assert not was_refused()
    another()

    assert refusals == [(False, True), (True, False)]
