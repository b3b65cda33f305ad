"""Waiting times before retries: growing, with random variation. Pure.

An event waits according to its own failures, so that an event that is never accepted delays no other. An
endpoint waits according to its failures in a row, so that it is not called for every event while it is down.
"""

from datetime import timedelta

# The last one repeats until the event is given up.
_EVENT = (
    timedelta(seconds=5),
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=1),
)
_ENDPOINT_FIRST, _ENDPOINT_LONGEST = timedelta(seconds=5), timedelta(minutes=15)
LONGEST_ASKED = timedelta(hours=1)  # longest `Retry-After` that is heeded
TRIED_FOR = timedelta(days=3)


def event_waits(attempts: int, *, chance: float) -> timedelta:
    """The wait after so many failed tries. chance: a random number from 0 to 1."""
    return _spread(_EVENT[min(max(attempts, 1), len(_EVENT)) - 1], chance)


def endpoint_waits(failures: int, *, chance: float) -> timedelta:
    """The wait before the next call of an endpoint, after so many failures in a row."""
    doubled = _ENDPOINT_FIRST * 2 ** min(max(failures, 1) - 1, 16)
    return _spread(min(doubled, _ENDPOINT_LONGEST), chance)


def _spread(wait: timedelta, chance: float) -> timedelta:
    return wait * (0.8 + 0.4 * chance)
