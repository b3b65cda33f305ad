"""Limits how many threads of this process wait for outside parties, such as relying parties.

A thread that waits for the decoder of pictures counts, too. All these threads are counted together, so that
they never are the last two threads, which answer pages meanwhile. No thread waits for the mail server
(`infra.mail`). Threads that wait for the database are counted separately, in `infra.database.hung_database`.
"""

import threading
from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import ExitStack, contextmanager
from threading import Condition

from django.conf import settings

from infra.outbound.calls import NotReachedError

MOST_FOR_ONE = 2
QUEUED_FOR = 0.5  # seconds; a party that works properly has answered by then

_busy: Counter[Hashable] = Counter()
_queued: Counter[Hashable] = Counter()
_changed = Condition()


class _OfThread(threading.local):
    """guard: the argument of `one_at_a_time`; refused: for `was_refused`."""

    guard: "Guard | None" = None
    refused = False


_thread = _OfThread()


class NoThreadFreeError(NotReachedError, OSError):
    """Too many threads wait already. Nothing was sent to the party."""


class Guard:
    """A reentrant lock for the only thread that may wait for calls of a kind."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Holds the lock; raises NoThreadFreeError at once when another thread holds it."""
        if not self._lock.acquire(blocking=False):
            _thread.refused = True
            raise NoThreadFreeError("Another call of this kind is waiting already.")
        try:
            yield
        finally:
            self._lock.release()


@contextmanager
def one_at_a_time(guard: Guard) -> Iterator[None]:
    """Every `waiting_for` of this thread inside the block holds the `guard`."""
    before = _thread.guard
    _thread.guard, _thread.refused = guard, False
    try:
        yield
    finally:
        _thread.guard = before


def was_refused() -> bool:
    """Whether the last `one_at_a_time` of this thread refused a wait because another thread was waiting."""
    return _thread.refused


def most_in_all() -> int:
    """The number of threads of this process that may wait at once, for the database or for others."""
    return max(1, settings.WEB_THREADS - 1)


def most_for_applications() -> int:
    """The number of threads that may wait for other parties than the database."""
    return max(1, most_in_all() - 1)


@contextmanager
def waiting_for(party: Hashable) -> Iterator[None]:
    """Counts this thread as waiting for `party` while the block runs.

    Raises NoThreadFreeError if there is no place:

    * `most_for_applications` threads may wait or queue at once. Further ones are refused at once.
    * MOST_FOR_ONE threads may wait for one party. One further thread for all parties together queues, for
      QUEUED_FOR seconds.
    """
    guard = _thread.guard
    with ExitStack() as held:
        if guard is not None:
            held.enter_context(guard.held())
        with _changed:
            if not _wait_for_place(party):
                raise NoThreadFreeError("Too many threads are waiting already.")
            _busy[party] += 1
        held.callback(_leave, party)
        yield


def _leave(party: Hashable) -> None:
    with _changed:
        _take_off(_busy, party)
        _changed.notify_all()


def _wait_for_place(party: Hashable) -> bool:
    """Waits until the party has a place free, if this thread may queue; False if it got none."""
    if (_busy + _queued).total() >= most_for_applications():
        return False
    if _busy[party] < MOST_FOR_ONE:
        return True
    if _queued.total():
        return False
    _queued[party] += 1
    try:
        return _changed.wait_for(lambda: _busy[party] < MOST_FOR_ONE, timeout=QUEUED_FOR)
    finally:
        _take_off(_queued, party)


def _take_off(counter: Counter[Hashable], party: Hashable) -> None:
    counter[party] -= 1
    if not counter[party]:
        del counter[party]
