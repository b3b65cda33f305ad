"""One far end that keeps silent holds few threads of a process, and all of them together leave one free."""

from collections.abc import Iterator
from contextlib import ExitStack, suppress
from threading import Barrier, Event, Thread

import pytest

from presentation.outbound import lanes
from presentation.outbound.calls import NotReachedError
from presentation.outbound.lanes import MOST_IN_ALL, MOST_TO_ONE, lane


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(lanes, "WAITED", 0.01)
    yield
    assert not lanes._under_way, "every lane was left"


def taken(called: object) -> bool:
    """Whether there was room for a call."""
    with suppress(NotReachedError), lane(called):
        return True
    return False


def test_of_many_calls_to_one_few_are_under_way_at_once() -> None:
    with lane("slow"), lane("slow"):
        assert not taken("slow")
        assert taken("another")
    assert MOST_TO_ONE == 2
    assert taken("slow")


def test_all_that_are_slow_together_leave_threads_free() -> None:
    with ExitStack() as held:
        for called in range(MOST_IN_ALL):
            held.enter_context(lane(called))
        assert not taken("another")
    assert taken("another")


def test_a_call_that_fails_leaves_its_lane() -> None:
    for _ in range(MOST_TO_ONE + 1):
        with pytest.raises(ZeroDivisionError), lane("slow"):
            raise ZeroDivisionError


def test_a_lane_that_gets_free_soon_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "WAITED", 30)
    with lane("quick"):
        first = lane("quick")
        first.__enter__()
        results: list[bool] = []
        waiting = Thread(target=lambda: results.append(taken("quick")))
        waiting.start()
        first.__exit__(None, None, None)
        waiting.join(timeout=10)
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
