"""Threads of this process that wait for an outside party: a mail server, a relying application.

All of them are counted together, so that one thread is always left to answer pages, however slow those are.
"""

from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from threading import Condition

from django.conf import settings

MOST_FOR_ONE = 2
QUEUED_FOR = 0.5  # seconds; a party that answers as it should is done by then

_busy: Counter[Hashable] = Counter()
_queued: list[Hashable] = []
_changed = Condition()


class NoThreadFreeError(OSError):
    """No thread may wait for this party at the moment. Nothing was sent to it."""


def most_in_all() -> int:
    """How many threads of this process may wait at once."""
    return max(1, settings.WEB_THREADS - 1)


@contextmanager
def waiting_for(party: Hashable, *, most: int = MOST_FOR_ONE) -> Iterator[None]:
    """Everything inside waits for `party`. Raises NoThreadFreeError when too many threads wait already.

    When `most` threads wait for the party, one more queues for half a second, and all others are refused
    at once.
    """
    with _changed:
        if not _may_wait(party, most):
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


def _may_wait(party: Hashable, most: int) -> bool:
    if _busy.total() + len(_queued) >= most_in_all():
        return False
    if _busy[party] < most:
        return True
    if _queued:
        return False
    _queued.append(party)
    try:
        return _changed.wait_for(lambda: _busy[party] < most, timeout=QUEUED_FOR)
    finally:
        _queued.remove(party)
