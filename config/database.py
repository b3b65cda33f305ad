"""The database settings that DATABASE_URL and DATABASE_POOLER describe. Pure.

Options in DATABASE_URL are kept; the others get the defaults of this module.
"""

import re
from typing import Any
from urllib.parse import urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

from config.variables import truth, url_config

# `session`, `transaction`: a pooler such as PgBouncer in that mode is between us and the server.
POOLERS = ("none", "session", "transaction")
_SWITCHES_OF_DJANGO = ("ATOMIC_REQUESTS", "AUTOCOMMIT", "CONN_HEALTH_CHECKS", "DISABLE_SERVER_SIDE_CURSORS")


def connection_settings(url: str, *, pooler: str) -> dict[str, Any]:
    """The entry of `DATABASES`; raises ImproperlyConfigured for values that cannot be right."""
    if pooler not in POOLERS:
        raise ImproperlyConfigured(f"DATABASE_POOLER must be one of {', '.join(POOLERS)}.")
    entry: dict[str, Any] = url_config("DATABASE_URL", url, environ.Env.db_url_config)
    if entry.get("ENGINE", "").endswith("sqlite3"):
        return entry | {"OPTIONS": _sqlite() | entry.get("OPTIONS", {})}
    if re.search(r"(^|,)\d+(,|$)", urlsplit(url).netloc.rpartition("@")[2]):
        raise ImproperlyConfigured("DATABASE_URL must name each host with its port: host1:5432,host2:5432.")
    if entry.get("ENGINE") == "django.db.backends.postgresql":
        entry["ENGINE"] = "infra.database.postgresql"  # whose connections do not wait for ever
    options = entry.setdefault("OPTIONS", {})
    _read_options(options)
    entry |= {name: _switch(name, entry[name]) for name in _SWITCHES_OF_DJANGO if name in entry}
    # Connections are kept and statements prepared, because opening and preparing take most of the time of a
    # short request. config.wsgi drops connections that the server has closed, without the round trip of
    # CONN_HEALTH_CHECKS.
    entry.setdefault("CONN_MAX_AGE", 600)
    options.setdefault("connect_timeout", 3)
    options.setdefault("server_side_binding", True)
    if pooler == "transaction":
        _share_connections(entry)
    options.setdefault("prepare_threshold", 2)
    return entry


def limits(pooler: str, *, answer: int) -> str:
    """The statement and lock timeouts of connections for requests, as libpq's `options`.

    5/8 and 1/4 of the `answer` timeout, in milliseconds: the server gives up before the client does. Empty
    behind a pooler, because PgBouncer refuses or silently drops `options`; docs/database.md describes what to
    set in the database instead.
    """
    statement, lock = answer * 1000 * 5 // 8, answer * 1000 // 4
    return f"-c statement_timeout={statement} -c lock_timeout={lock}" if pooler == "none" else ""


def _sqlite() -> dict[str, Any]:
    """IMMEDIATE lets SQLite queue writers, and WAL lets it read during a write."""
    return {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA busy_timeout=20000;",
    }


def _share_connections(entry: dict[str, Any]) -> None:
    """Turns off prepared statements and server-side cursors: each transaction may run on another connection.

    Clients give their prepared statements the same names, so one client would run those of another.
    """
    if entry["OPTIONS"].setdefault("prepare_threshold", None) is not None:
        raise ImproperlyConfigured(
            "DATABASE_URL has a prepare_threshold, and DATABASE_POOLER=transaction rules out prepared "
            "statements: one client would get the rows of another."
        )
    if not entry.setdefault("DISABLE_SERVER_SIDE_CURSORS", True):
        raise ImproperlyConfigured(
            "DATABASE_URL has disable_server_side_cursors=false, and DATABASE_POOLER=transaction rules out "
            "server-side cursors."
        )


def _read_options(options: dict[str, Any]) -> None:
    """Converts the options that are not texts; raises ImproperlyConfigured."""
    if "server_side_binding" in options:
        options["server_side_binding"] = _switch("server_side_binding", options["server_side_binding"])
    threshold = options.get("prepare_threshold", 0)
    if str(threshold).lower() in ("none", ""):
        options["prepare_threshold"] = None
    elif not isinstance(threshold, int) or threshold < 0:
        raise ImproperlyConfigured("DATABASE_URL: prepare_threshold must be a whole number or `none`.")
    timeout = options.get("connect_timeout", 1)
    if not isinstance(timeout, int) or timeout < 1:
        raise ImproperlyConfigured(
            "DATABASE_URL: connect_timeout must be a whole number of seconds from 1 on."
        )


def _switch(name: str, value: Any) -> bool:
    parsed = truth(str(value))
    if parsed is None:
        raise ImproperlyConfigured(f"DATABASE_URL: {name.lower()} must be true or false.")
    return parsed
