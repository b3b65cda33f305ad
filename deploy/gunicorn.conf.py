"""gunicorn, for the sandbox and for production alike. Any setting can be overridden on the command line."""

import os
import sys


def number(name: str, default: int) -> int:
    """A whole number from 1 to 1000; anything else ends the start with one sentence."""
    value = os.environ.get(name, "") or str(default)
    if not (value.isascii() and value.isdigit() and len(value) <= 4 and 1 <= int(value) <= 1000):
        sys.exit(f"Cannot start: {name} must be a whole number from 1 to 1000.")
    return int(value)


bind = os.environ.get("BIND") or "127.0.0.1:8000"
workers = number("WEB_CONCURRENCY", 2)
worker_class = "gthread"  # slow clients hold a thread, not a worker
threads = number("WEB_THREADS", 4)
# An authorization request may be as long as gunicorn allows; its default of 4094 bytes answers 414 too soon.
limit_request_line = 8190
# No `max_requests`: a new worker has no published documents in memory yet, and while the database is away it
# could not make any. Memory does not grow (docs/speed.md).
graceful_timeout = 30
control_socket_disable = True  # gunicorn 25+ opens one in the home folder otherwise
accesslog = None  # config.middleware writes one line per request, without query strings
forwarded_allow_ips = os.environ.get("FORWARDED_ALLOW_IPS", "127.0.0.1")
