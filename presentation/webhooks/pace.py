"""When something is tried again: ever later, never quite at the same moment. Pure.

An event waits by its own failures, so that one that is never taken holds up no other; an endpoint waits by
its failures in a row, so that one that is down is not called for every event that waits.
"""

from datetime import timedelta

# The last goes on until the event is given up.
_EVENT = (
    timedelta(seconds=5),
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=1),
)
_ENDPOINT_FIRST, _ENDPOINT_LONGEST = timedelta(seconds=5), timedelta(minutes=15)
LONGEST_ASKED = timedelta(hours=1)  # that an address may ask to be left alone for
TRIED_FOR = timedelta(days=3)


def event_waits(attempts: int, *, chance: float) -> timedelta:
    """Until the next try, after so many that failed; chance: 0 to 1, drawn anew each time."""
    return _spread(_EVENT[min(max(attempts, 1), len(_EVENT)) - 1], chance)


def endpoint_waits(failures: int, *, chance: float) -> timedelta:
    """Until the endpoint is called again, after so many failures in a row."""
    doubled = _ENDPOINT_FIRST * 2 ** min(max(failures, 1) - 1, 16)
    return _spread(min(doubled, _ENDPOINT_LONGEST), chance)


def _spread(wait: timedelta, chance: float) -> timedelta:
    return wait * (0.8 + 0.4 * chance)
