"""Writes that PostgreSQL refuses while it still answers reads, as on a full disk.

No cheap probe finds them: on a full disk a small UPDATE succeeds as long as its page has room. So what
happens to requests is remembered here for `/health/ready`, and counted by `config.middleware`.
"""

from time import monotonic

from infra import log_context

# By SQLSTATE. PostgreSQL is read-only while it is a standby, and where its configuration says so.
REASONS = {"25006": "read_only", "53100": "disk_full", "53200": "out_of_memory"}
_REMEMBERED = 30.0  # seconds

_until = 0.0  # on the monotonic clock


def note(sqlstate: str | None) -> None:
    """Takes the code with which a statement of this request failed."""
    global _until
    if reason := REASONS.get(sqlstate or ""):
        _until = monotonic() + _REMEMBERED
        log_context.bind(refused_write=reason)


def seen_lately() -> bool:
    """Whether this process has met a refused write in the last 30 seconds."""
    return monotonic() < _until
