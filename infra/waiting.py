"""Limits how many threads of this process wait for outside parties: a mail server, a relying party.

All these threads are counted together, so that slow parties never occupy the last thread. Threads that do not
wait for the mail server leave one more free, because nobody can sign in without an e-mail. Threads that wait
for the database are counted separately, in `infra.database.hung_database`.
"""

import threading
from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import ExitStack, contextmanager
from threading import Condition

from django.conf import settings

from infra.outbound.calls import NotReachedError

MAIL_SERVER = "mail server"  # threads that wait for it are counted under this name
MOST_FOR_ONE = 2
QUEUED_FOR = 0.5  # seconds; a party that works properly has answered by then
QUEUED_FOR_MAIL = 3.0  # seconds; a mail server may take a second for each e-mail, and a person waits for it

_busy: Counter[Hashable] = Counter()
_queued: Counter[Hashable] = Counter()
_changed = Condition()
_thread = threading.local()  # `guard`: the argument of `one_at_a_time`; `refused`: for `was_refused`


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
    _thread.guard, _thread.refused = guard, False
    try:
        yield
    finally:
        _thread.guard = None


def was_refused() -> bool:
    """Whether the last `one_at_a_time` of this thread refused a wait because another thread was waiting."""
    return getattr(_thread, "refused", False)


def most_in_all() -> int:
    """The number of threads of this process that may wait at once."""
    return max(1, settings.WEB_THREADS - 1)


def most_for_applications() -> int:
    """The number of threads that may wait for parties other than the mail server."""
    return max(1, most_in_all() - 1)


@contextmanager
def waiting_for(party: Hashable) -> Iterator[None]:
    """Counts this thread as waiting for `party` while the block runs.

    Raises NoThreadFreeError if there is no place:

    * `most_in_all` threads may wait or queue at once, `most_for_applications` of them for others than the
      mail server. Further ones are refused at once.
    * MOST_FOR_ONE threads may wait for one party. Further ones queue: any number for the mail server, for
      QUEUED_FOR_MAIL seconds; one for all other parties together, for QUEUED_FOR seconds.
    """
    guard = getattr(_thread, "guard", None)
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
    waiting = _busy + _queued
    queued_for_others = _queued.total() - _queued[MAIL_SERVER]
    if waiting.total() >= most_in_all():
        return False
    if party != MAIL_SERVER and waiting.total() - waiting[MAIL_SERVER] >= most_for_applications():
        return False
    if _busy[party] < MOST_FOR_ONE:
        return True
    if party != MAIL_SERVER and queued_for_others:
        return False
    _queued[party] += 1
    try:
        seconds = QUEUED_FOR_MAIL if party == MAIL_SERVER else QUEUED_FOR
        return _changed.wait_for(lambda: _busy[party] < MOST_FOR_ONE, timeout=seconds)
    finally:
        _take_off(_queued, party)


def _take_off(counter: Counter[Hashable], party: Hashable) -> None:
    counter[party] -= 1
    if not counter[party]:
        del counter[party]
