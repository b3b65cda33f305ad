"""Writes that PostgreSQL refuses while it still answers reads, as on a full disk.

No cheap probe finds them: on a full disk a small UPDATE succeeds as long as its page has room. So what
happens to requests is remembered here for `/health/ready`, and counted for the metrics.
"""

from contextvars import ContextVar
from time import monotonic

from infra import log_context
from infra.counts.counting import Counter

# By SQLSTATE. PostgreSQL is read-only while it is a standby, and where its configuration says so.
REASONS = {"25006": "read_only", "53100": "disk_full", "53200": "out_of_memory"}
_REMEMBERED = 30.0  # seconds

REFUSED_WRITES = Counter("database_refused_writes", "Requests whose write the database refused.", "reason")

_until = 0.0  # on the monotonic clock
# Whether this thread serves a request that has met no refused write yet. Each request counts once at most.
_counts: ContextVar[bool] = ContextVar("counts_refused_writes", default=False)


def begin_request() -> None:
    """From now on this thread serves a request, whose first refused write is counted."""
    _counts.set(True)


def end_request() -> None:
    """From now on this thread serves no request, so that refused writes are not counted."""
    _counts.set(False)


def note(sqlstate: str | None) -> None:
    """Takes the code with which a statement failed."""
    global _until
    if reason := REASONS.get(sqlstate or ""):
        _until = monotonic() + _REMEMBERED
        log_context.bind(refused_write=reason)
        if _counts.get():
            REFUSED_WRITES.add(reason)
            _counts.set(False)


def seen_lately() -> bool:
    """Whether this process has met a refused write in the last 30 seconds."""
    return monotonic() < _until
