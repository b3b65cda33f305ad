"""A database that accepts connections and answers nothing must not hold the threads of this process.

While the server is suspended, its kernel still acknowledges what we send: no timeout of the server ends the
wait, and none of TCP. So the client disconnects after a while. The thread gets an OperationalError; whether a
COMMIT on its way was done is then unknown. When all other threads wait for the database already, the last one
waits two seconds at most and is then free for the documents that are served from memory.

Once a wait was cut off, a thread in the background asks the server again and again whether it answers. While
it does not, whatever needs a new connection or a new answer fails at once.
"""

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import monotonic, sleep
from typing import Any

import psycopg
import structlog
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections

from infra.database import internals
from infra.waiting import most_in_all

log = structlog.get_logger(__name__)

SHORT = 2.0  # seconds that every thread may wait
PROBE_INTERVAL = 1.0  # seconds between two probes
PROMPT = 1.0  # seconds within which a refusal shows that the server answers
PROBE_TIMEOUT = 3  # seconds that a probe may take

_thread = threading.local()  # `seconds`: how long this thread may wait for one answer
_long_waits = threading.BoundedSemaphore(most_in_all())  # taken by threads that wait long
_state = threading.Lock()  # guards the two below
_probing = False  # whether a thread probes the database
_is_hung = False  # whether that thread got no answer


def begin(seconds: float) -> None:
    """From now on this thread waits no longer than this for an answer of the database."""
    _thread.seconds = seconds
    _watch(connections[DEFAULT_DB_ALIAS])


def end(**_: Any) -> None:
    """It waits as long as it takes again; a receiver of `request_finished`."""
    _thread.seconds = None


@contextmanager
def bounded(seconds: float) -> Iterator[None]:
    """Limits the waits within a block. A shorter limit that is already set stays in force."""
    before = getattr(_thread, "seconds", None)
    begin(seconds if before is None else min(seconds, before))
    try:
        yield
    finally:
        _thread.seconds = before


class _BoundedConnection(psycopg.Connection[Any]):
    """Every wait for the server goes through `wait`, also those of BEGIN and COMMIT."""

    def wait(self, gen: Any, *args: Any, **kwargs: Any) -> Any:
        seconds = getattr(_thread, "seconds", None)
        return super().wait(gen if seconds is None else _limited(gen, self, seconds), *args, **kwargs)


def _watch(connection: Any) -> None:
    """Have Django's connection of this thread, and those it will open, waited for within the bound."""
    if connection.vendor != "postgresql":
        return
    _bind(connection.connection)
    if not internals.ARE_TRIED or "get_new_connection" in connection.__dict__:
        return
    connect = connection.get_new_connection
    connection.get_new_connection = lambda params: _connected(connect, params)


def watch_opened(connection: Any, **_: Any) -> None:
    """A receiver of `connection_created`, for a Django whose connections we do not open ourselves.

    How long it may take to connect is then for `connect_timeout` alone, and how many threads connect is not
    counted.
    """
    untried = not internals.ARE_TRIED and connection.vendor == "postgresql"
    if not untried or getattr(_thread, "seconds", None) is None:
        return
    raw = _bind(connection.connection)
    said = connection.settings_dict["OPTIONS"].get("options", "")
    for name, limit in re.findall(r"-c (\w+)=(\S+)", settings.DATABASE_LIMITS):
        if f"{name}=" not in said:
            raw.execute("SELECT set_config(%s, %s, false)", [name, limit])


def _bind(raw: Any) -> Any:
    if type(raw) is psycopg.Connection:
        raw.__class__ = _BoundedConnection
    return raw


def _connected(connect: Any, params: dict[str, Any]) -> Any:
    """A new connection; for a request it begins with the limits of requests."""
    if getattr(_thread, "seconds", None) is None:
        return connect(params)
    _refuse_while_it_hangs()
    if not _long_waits.acquire(timeout=0 if _probing else SHORT):  # 0: a wait was cut off a moment ago
        raise psycopg.OperationalError("All other threads are waiting for the database already.")
    try:
        options = f"{settings.DATABASE_LIMITS} {params.get('options', '')}".strip()
        return _bind(connect({**params, "options": options} if options else params))
    except psycopg.errors.ConnectionTimeout:
        _start_probe()
        raise
    finally:
        _long_waits.release()


def _limited(gen: Any, raw: Any, seconds: float) -> Any:
    """psycopg's generator, which is sent 0 every 0.1 s while nothing arrives; disconnects at the limit."""
    if not getattr(_thread, "probes", False):
        _refuse_while_it_hangs()
    began, waits_long, over = monotonic(), False, False
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            waited = 0.0 if ready or over else monotonic() - began
            if waited >= SHORT and not waits_long:
                waits_long = _long_waits.acquire(blocking=False)
            if waited >= seconds or (waited >= SHORT and not waits_long):
                over = True
                _disconnect(raw)
            wanted = gen.send(ready)
    except StopIteration as stop:
        return stop.value
    finally:
        if waits_long:
            _long_waits.release()


def _disconnect(raw: Any) -> None:
    """End the conversation, so that libpq finds it ended. Not `cancel`, which asks the server that hangs."""
    log.error("database_did_not_answer")
    with suppress(OSError, psycopg.Error):  # it is closed already
        connected = socket.socket(fileno=raw.pgconn.socket)  # no duplicate: no file descriptor may be free
        try:
            connected.shutdown(socket.SHUT_RDWR)
        finally:
            connected.detach()
    _start_probe()


def _refuse_while_it_hangs() -> None:
    if _is_hung:
        raise psycopg.OperationalError("The database did not answer a moment ago.")


def _start_probe() -> None:
    """Find out in the background whether the server hangs, and when it is back."""
    global _probing
    if getattr(_thread, "probes", False):
        return
    with _state:
        if _probing:
            return
        _probing = True
    try:
        params = connections[DEFAULT_DB_ALIAS].get_connection_params()
        threading.Thread(target=_probe, args=(params,), daemon=True, name="database-probe").start()
    except Exception:  # no thread may be free either; the next wait that is cut off tries again
        log.exception("database_probe_not_started")
        with _state:
            _probing = False


def _probe(params: dict[str, Any]) -> None:
    global _is_hung, _probing
    _thread.probes, _thread.seconds = True, PROBE_TIMEOUT
    while not _answers(params):
        _is_hung = True
        sleep(PROBE_INTERVAL)
    with _state:
        _is_hung = _probing = False


def _answers(params: dict[str, Any]) -> bool:
    """Whether a connection and a statement come to an end in time.

    A refusal that comes promptly, such as "too many connections", is an answer too: it holds no thread.
    """
    began = monotonic()
    try:
        with psycopg.connect(**{**params, "connect_timeout": PROBE_TIMEOUT, "autocommit": True}) as raw:
            _bind(raw).execute("SELECT 1")
    except psycopg.Error:
        return monotonic() - began < PROMPT
    except Exception:  # as OSError, when no file descriptor is free: this thread must not end by it
        return False
    return True
