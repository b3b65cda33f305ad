"""Status lists: allocation of entries at several loads, building and signing a list, its size.

Run as a module in the service's environment, with how many bursts of how many; prints JSON. Leaves one list
of the ordinary size, of which one in a hundred entries is invalid, for who measures how it is served.
"""

import gzip
import json
import os
import random
import sys
from collections.abc import Callable
from datetime import timedelta
from statistics import mean, median
from time import process_time
from typing import Any

import django

from tools.benchmarks.sites import cpu_seconds

LOADS = {"1 %": 0.01, "25 %": 0.25, "50 %": 0.5}
# About half of a list is allocated at most; after an emergency all of it may be invalid.
INVALID = {"nothing": 0.0, "1 %": 0.01, "50 %": 0.5}


def allocation(bursts: int, size: int) -> dict[str, float]:
    """Entries allocated per second of CPU, the database's included; each load has its own pair of lists."""
    from django.utils import timezone

    from keys.issuer_key import active_issuer_key
    from wallet.models import Credential, StatusList
    from wallet.status_lists import allocation

    now = timezone.now()
    credential, kid = Credential.objects.all()[0], active_issuer_key(now=now).kid
    pairs = {load: _filled_pair(share) for load, share in LOADS.items()}
    facts: dict[str, Any] = {
        "kid": kid,
        "reference": None,
        "expires_at": now + timedelta(hours=24),
        "now": now,
    }
    seconds: dict[str, list[float]] = {load: [] for load in LOADS}
    for number in range(bursts + 1):
        for load in LOADS if number % 2 else reversed(LOADS):
            StatusList.objects.filter(closed_at=None).update(closed_at=now)
            StatusList.objects.filter(pk__in=pairs[load]).update(closed_at=None)
            took = _timed(lambda: allocation.take(credential, **facts), size, database=_backend())
            if number:  # the first warms up
                seconds[load].append(took)
    # The mean, because the kernel counts the database's CPU time in ticks, which average out over all bursts.
    return {load: 1 / mean(found) for load, found in seconds.items()}


def _filled_pair(share: float) -> list[int]:
    """A list in each slot of which this share is allocated already."""
    from django.db import connection
    from django.utils import timezone

    from wallet.models import StatusList

    now = timezone.now()
    rows = [StatusList.objects.create(slot=slot, opened_at=now, closed_at=now) for slot in (0, 1)]
    with connection.cursor() as cursor:
        for row in rows:
            cursor.execute(
                "INSERT INTO wallet_statusentry (status_list_id, idx, status) "
                "SELECT %s, idx, 0 FROM generate_series(0, %s) idx WHERE random() < %s",
                [row.pk, row.size - 1, share],
            )
        cursor.execute("VACUUM ANALYZE wallet_statusentry")
    return [row.pk for row in rows]


def making() -> dict[str, dict[str, float]]:
    """Milliseconds of CPU to build and sign a list, and its size, plain and in gzip."""
    from django.utils import timezone

    from keys.issuer_key import active_issuer_key
    from wallet.models import StatusList
    from wallet.status_lists import token

    now = timezone.now()
    key, size = active_issuer_key(now=now), StatusList._meta.get_field("size").default
    found = {}
    for label, share in INVALID.items():
        statuses = dict.fromkeys(random.sample(range(size), int(size * share)), 1)

        def make(statuses: dict[int, int] = statuses) -> str:
            packed = token.pack(statuses, size=size, bits=token.BITS)
            return token.signed(1, packed, issuer_key=key, now=now)

        body = make().encode()
        found[label] = {
            "milliseconds": 1000 * median(_timed(make, 1) for _ in range(7)),
            "plain": len(body),
            "gzip": len(gzip.compress(body)),
        }
    return found


def leave_a_list() -> int:
    """Make an open list in which one in a hundred entries is invalid; returns its number."""
    from django.utils import timezone

    from keys.issuer_key import active_issuer_key
    from wallet.models import Credential, StatusEntry, StatusList
    from wallet.status_lists import upkeep

    now = timezone.now()
    upkeep.keep_open(now=now)
    row = StatusList.objects.filter(closed_at=None).latest("id")
    facts = {
        "credential": Credential.objects.all()[0],
        "signing_key_id": active_issuer_key(now=now).kid,
        "expires_at": now + timedelta(hours=24),
    }
    taken = set(row.entries.values_list("idx", flat=True))
    free = set(random.sample(range(row.size), row.size // 100)) - taken
    entries = (StatusEntry(status_list=row, idx=idx, status=1, **facts) for idx in free)
    StatusEntry.objects.bulk_create(entries, batch_size=2000)
    return row.pk


def _backend() -> int:
    """The process ID of the database's backend for this connection."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone()
    return int(pid)


def _timed(task: Callable[[], object], size: int, *, database: int | None = None) -> float:
    """Seconds of CPU for one call, on average over `size`; with the database's if its process is given."""

    def spent() -> float:
        return process_time() + (cpu_seconds(database) if database else 0)

    started = spent()
    for _ in range(size):
        task()
    return (spent() - started) / size


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    bursts, size = int(sys.argv[1]), int(sys.argv[2])
    rates = allocation(bursts, size)
    json.dump({"rates": rates, "made": making(), "list": leave_a_list()}, sys.stdout)
