"""Counts the unexpired credentials that a signing key signed, to warn before a withdrawal.

The apps above keep the credentials and register functions that count them, because imports only go down.
"""

from collections.abc import Callable
from datetime import datetime
from uuid import UUID

Counter = Callable[[UUID, datetime], int]

_counters: list[Counter] = []


def register(counter: Counter) -> None:
    """Adds a function of an app, called from its `AppConfig.ready`. Registering it twice has no effect."""
    if counter not in _counters:
        _counters.append(counter)


def unexpired_credentials(kid: UUID, *, now: datetime) -> int:
    """How many unexpired credentials this key signed, in all apps."""
    return sum(counter(kid, now) for counter in _counters)
