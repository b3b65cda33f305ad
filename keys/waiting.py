"""Threads of this process that wait for an outside party: a mail server, a relying application.

All of them are counted together, so that slow parties never hold the last thread. Threads that wait for the
database are counted apart, in `keys.hung_database`.
"""

from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from threading import Condition

from django.conf import settings

MOST_FOR_ONE = 2
QUEUED_FOR = 0.5  # seconds; a party that answers as it should is done by then

_busy: Counter[Hashable] = Counter()
_queued = False  # whether a thread of this process is in the queue
_changed = Condition()


class NoThreadFreeError(OSError):
    """No thread may wait for this party at the moment. Nothing was sent to it."""


def most_in_all() -> int:
    """How many threads of this process may wait at once."""
    return max(1, settings.WEB_THREADS - 1)


@contextmanager
def waiting_for(party: Hashable) -> Iterator[None]:
    """Counts this thread as waiting for `party` while the block runs.

    Raises NoThreadFreeError when all threads but one wait already. When MOST_FOR_ONE threads wait for this
    party, a single thread of the process may queue for half a second; any other is refused at once.
    """
    with _changed:
        if not _may_wait(party):
            raise NoThreadFreeError("Too many threads are waiting already.")
        _busy[party] += 1
    try:
        yield
    finally:
        with _changed:
            _busy[party] -= 1
            if not _busy[party]:
                del _busy[party]
            _changed.notify_all()


def _may_wait(party: Hashable) -> bool:
    global _queued
    if _busy.total() + _queued >= most_in_all():
        return False
    if _busy[party] < MOST_FOR_ONE:
        return True
    if _queued:
        return False
    _queued = True
    try:
        return _changed.wait_for(lambda: _busy[party] < MOST_FOR_ONE, timeout=QUEUED_FOR)
    finally:
        _queued = False
