"""What hangs on a signing key: how many unexpired credentials it signed. Asked before a key is withdrawn.

The rooms above keep the credentials and register who counts them, so that imports only go down.
"""

from collections.abc import Callable
from datetime import datetime
from uuid import UUID

Counter = Callable[[UUID, datetime], int]

_counters: list[Counter] = []


def register(counter: Counter) -> None:
    """Have `counter(kid, now)` asked too; from a room's `AppConfig.ready`. Twice is the same as once."""
    if counter not in _counters:
        _counters.append(counter)


def unexpired_credentials(kid: UUID, *, now: datetime) -> int:
    """How many credentials this key signed that have not ended by `now`, of every room that counts."""
    return sum(counter(kid, now) for counter in _counters)
