"""How many calls may be under way at once from a process: a slow far end must not take all its threads."""

from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from threading import Condition

from presentation.outbound.calls import NotReachedError

MOST_TO_ONE = 2
MOST_IN_ALL = 3  # a process has four threads unless it is told otherwise (deploy/gunicorn.conf.py)
WAITED = 0.5  # seconds; whoever answers as they should is done by then

_under_way: Counter[Hashable] = Counter()
_changed = Condition()


@contextmanager
def lane(called: Hashable) -> Iterator[None]:
    """Room for one call to the relying party `called`; raises NotReachedError when there is none soon."""
    with _changed:
        if not _changed.wait_for(lambda: _has_room(called), timeout=WAITED):
            raise NotReachedError("Too many calls are under way.")
        _under_way[called] += 1
    try:
        yield
    finally:
        with _changed:
            _under_way[called] -= 1
            if not _under_way[called]:
                del _under_way[called]
            _changed.notify_all()


def _has_room(called: Hashable) -> bool:
    return _under_way[called] < MOST_TO_ONE and _under_way.total() < MOST_IN_ALL
