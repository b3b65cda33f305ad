"""gunicorn's configuration for the sandbox and for production. Command-line options override it."""

import gc
import os
import sys
from typing import Any


def number(name: str, default: int, *, least: int = 1) -> int:
    """A whole number from `least` to 1000, as config/settings.py reads it; another value stops the start."""
    value = os.environ.get(name, "") or str(default)
    if not (value.isascii() and value.isdigit() and len(value) <= 4 and least <= int(value) <= 1000):
        sys.exit(f"Cannot start: {name} must be a whole number from {least} to 1000.")
    return int(value)


bind = "127.0.0.1:8000"
workers = number("WEB_CONCURRENCY", 2)
worker_class = "gthread"  # a slow client occupies a thread, not a worker
threads = number("WEB_THREADS", 4, least=4)
preload_app = True  # the workers are forks of one process, and share the memory of the code


def when_ready(_arbiter: Any) -> None:
    """Prepares the process for the forks: they must not share a connection, and should share memory.

    The garbage collector writes to the objects that it visits, which would copy their pages for each worker.
    """
    from django.db import connections

    connections.close_all()
    gc.collect()
    gc.freeze()


# gunicorn's maximum, because an authorization request can be longer than its default of 4094 bytes.
limit_request_line = 8190
# All that nginx accepts (`large_client_header_buffers` in deploy/nginx.conf.template, 4 of 16 kB): nginx
# refuses more cookies with a page, and gunicorn would in bare English.
limit_request_field_size = 65536
# No `max_requests`, because a new worker has no published documents in memory and cannot build them while the
# database is away. Memory does not grow (docs/speed.md).
graceful_timeout = 30
control_socket_disable = True  # gunicorn 25 and newer would create one in the home directory
accesslog = None  # config.middleware writes one line per request, without query strings
forwarded_allow_ips = "127.0.0.1"  # the service counts proxies itself (TRUSTED_PROXY_COUNT)
