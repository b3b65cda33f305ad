"""One far end that keeps silent holds few threads of a process, and all of them together leave one free."""

from collections.abc import Iterator
from contextlib import ExitStack, suppress
from threading import Barrier, Event, Semaphore, Thread
from typing import Any

import pytest

from keys import waiting
from keys.waiting import MOST_FOR_ONE, most_in_all
from presentation.outbound.calls import NotReachedError
from presentation.outbound.lanes import lane


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(waiting, "QUEUED_FOR", 0.01)
    yield
    assert not waiting._busy, "every lane was left"
    assert not waiting._queued


def taken(called: object) -> bool:
    """Whether there was room for a call."""
    with suppress(NotReachedError), lane(called):
        return True
    return False


def test_of_many_calls_to_one_few_are_under_way_at_once() -> None:
    with lane("slow"), lane("slow"):
        assert not taken("slow")
        assert taken("another")
    assert MOST_FOR_ONE == 2
    assert taken("slow")


def test_all_that_are_slow_together_leave_threads_free() -> None:
    with ExitStack() as held:
        for called in range(most_in_all()):
            held.enter_context(lane(called))
        assert not taken("another")
    assert taken("another")


def test_a_call_that_fails_leaves_its_lane() -> None:
    for _ in range(MOST_FOR_ONE + 1):
        with pytest.raises(ZeroDivisionError), lane("slow"):
            raise ZeroDivisionError


def test_a_lane_that_gets_free_soon_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "QUEUED_FOR", 30)
    with lane("quick"):
        first = lane("quick")
        first.__enter__()
        results: list[bool] = []
        queued = Thread(target=lambda: results.append(taken("quick")))
        queued.start()
        first.__exit__(None, None, None)
        queued.join(timeout=10)
    assert results == [True]


def test_of_a_dozen_threads_that_call_a_silent_far_end_two_are_held() -> None:
    together, answered, refused = Barrier(12), Event(), Event()
    results: list[str] = []

    def call() -> None:
        together.wait()
        try:
            with lane("silent"):
                assert answered.wait(10)
                results.append("held")
        except NotReachedError:
            results.append("refused")
            if len(results) == 10:
                refused.set()

    threads = [Thread(target=call) for _ in range(12)]
    for thread in threads:
        thread.start()
    assert refused.wait(10), "ten are told while nothing has answered yet"
    answered.set()
    for thread in threads:
        thread.join()

    assert (results.count("refused"), results.count("held")) == (10, 2)


def test_one_thread_queues_and_all_others_are_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "QUEUED_FOR", 3600)
    with lane("slow"), lane("slow"):
        queued = Thread(target=lambda: taken("slow"))
        queued.start()
        while not waiting._queued:
            queued.join(timeout=0.01)
        assert not taken("slow")
        assert not taken("another"), "one thread of four is left for pages"
    queued.join(timeout=10)
    assert taken("another")


@pytest.mark.parametrize(("threads", "most"), [(1, 1), (2, 1), (4, 3), (16, 15)])
def test_however_many_threads_a_process_has_one_is_left_if_there_are_two(
    settings: Any, threads: int, most: int
) -> None:
    settings.WEB_THREADS = threads
    with ExitStack() as held:
        for called in range(most):
            held.enter_context(lane(called))
        assert not taken("another")


@pytest.mark.parametrize("threads", [2, 3, 4, 8])
def test_many_threads_at_many_silent_parties_never_hold_the_last_thread(settings: Any, threads: int) -> None:
    settings.WEB_THREADS = threads
    together, answered, refused = Barrier(40), Event(), Semaphore(0)
    held: list[int] = []

    def call(number: int) -> None:
        together.wait()
        try:
            with lane(number % 7):
                held.append(number)
                assert answered.wait(10)
        except NotReachedError:
            refused.release()

    callers = [Thread(target=call, args=(number,)) for number in range(40)]
    for caller in callers:
        caller.start()
    for _ in range(40 - (threads - 1)):
        assert refused.acquire(timeout=10), "these are told while nothing has answered yet"
    answered.set()
    for caller in callers:
        caller.join()

    assert len(held) == threads - 1
