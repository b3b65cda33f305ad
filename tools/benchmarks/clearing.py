"""How long `clear_expired` takes for interactions, questions and presented credentials that are due.

Run as a module in the service's environment; prints JSON. The longest transaction stands for the longest
lock.
"""

import json
import os
import sys
from dataclasses import dataclass
from threading import Event, Thread
from time import perf_counter

import django
import psycopg

from tools.benchmarks.servers import Prepared, Work

BATCH = 1_000
NAMES = ("interactions", "questions", "presented credentials")  # as `infra.retention` calls them
COMMAND = ("-m", "tools.benchmarks.clearing")
DUE = """
    CREATE TEMPORARY TABLE due AS
    SELECT id, consent_id FROM presentation_interaction WHERE consent_id IS NOT NULL
    ORDER BY id LIMIT %(due)s;
    UPDATE presentation_interaction
    SET outcome = '', answered_at = NULL, expires_at = now() - interval '2 days'
    WHERE id IN (SELECT id FROM due);
    UPDATE consent_consent
    SET decision = 'asked', decided_at = NULL, expires_at = now() - interval '2 days'
    WHERE id IN (SELECT consent_id FROM due);
    UPDATE wallet_statusentry SET expires_at = now() - interval '2 hours' WHERE id IN (
        SELECT id FROM wallet_statusentry WHERE expires_at > now() ORDER BY id LIMIT %(due)s
    );
"""
NOW = """
    SELECT extract(epoch FROM max(clock_timestamp() - xact_start) FILTER (WHERE backend_xid IS NOT NULL)),
        (SELECT extract(epoch FROM max(clock_timestamp() - waitstart)) FROM pg_locks WHERE NOT granted),
        extract(epoch FROM max(clock_timestamp() - query_start) FILTER (WHERE state = 'active'))
    FROM pg_stat_activity
    WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
"""
LOOKED = 0.002  # seconds between two looks at the database


@dataclass(frozen=True)
class Cleared:
    seconds: float
    longest: float  # seconds of the longest transaction that wrote
    waited: float  # seconds of the longest wait for a lock
    statement: float  # seconds of the longest statement


def run(site: Prepared, due: int) -> dict[str, Cleared]:
    """Makes so many rows of each kind due and clears them; by the name of each kind."""
    url = site.environment["DATABASE_URL"]
    with psycopg.connect(url) as connection, psycopg.ClientCursor(connection) as cursor:
        cursor.execute(DUE, {"due": due})
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
        connection.execute("CHECKPOINT")
    return {name: _cleared(site, name, due) for name in NAMES}


def _cleared(site: Prepared, name: str, due: int) -> Cleared:
    over, longest = Event(), [0.0, 0.0, 0.0]
    watch = Thread(target=_watch, args=(site.environment["DATABASE_URL"], over, longest))
    watch.start()
    try:
        with Work([*COMMAND, name], site.environment, patience=3_600) as work:
            rows, seconds = json.loads(work.done())
    finally:
        over.set()
        watch.join()
    if rows != due:
        raise RuntimeError(f"{rows} {name} were cleared, and {due} were due")
    return Cleared(seconds, *longest)


def _watch(url: str, over: Event, longest: list[float]) -> None:
    """Keeps the longest times that were seen; what is between two looks is shorter than them."""
    with psycopg.connect(url, autocommit=True) as connection:
        while not over.wait(LOOKED):
            seen = connection.execute(NOW).fetchone() or ()
            longest[:] = [max(most, float(seconds or 0)) for most, seconds in zip(longest, seen, strict=True)]


def _clear(name: str) -> tuple[int, float]:
    """The number of rows that clearing deleted or emptied, and the seconds."""
    from django.utils import timezone

    from infra import retention

    (entry,) = [entry for entry in retention.entries() if entry.cleared_as == name]
    assert entry.clear
    began = perf_counter()
    rows = entry.clear(now=timezone.now(), batch=BATCH)
    return rows, perf_counter() - began


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    print(json.dumps(_clear(sys.argv[1])))
