"""Limits the waits for a database that accepts connections but does not answer.

While the server is suspended, its kernel still acknowledges what we send, so neither a timeout of the server
nor one of TCP ends the wait. Therefore the client disconnects after a while. The thread gets an
OperationalError; whether a COMMIT in progress succeeded is then unknown. So it is when the server stopped
waiting for its synchronous standby, which it reports by a warning only. When all other threads already wait
for the database, the last one waits two seconds at most, so that it can serve the documents in memory.

After a wait was cut off, a background thread probes the server until it answers. While it does not, every
statement and every new connection fails at once.
"""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic, sleep
from typing import Any, Self
from weakref import WeakMethod

import psycopg
import structlog
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections

from infra.database import refused_writes
from infra.waiting import most_in_all

log = structlog.get_logger(__name__)
Connect = Callable[[dict[str, Any]], Any]  # takes psycopg's parameters and gives a connection

SHORT = 2.0  # seconds for which every thread may wait
TAKEOVER = 5.0  # seconds for which requests wait until one of several hosts accepts writes
PROBE_INTERVAL = 1.0  # seconds between two probes
PROMPT = 1.0  # seconds; a refusal within this time shows that the server answers
PROBE_TIMEOUT = 3  # seconds that a probe may take


class _OfThread(threading.local):
    """seconds: the limit of this thread; probes: whether it is the probing thread."""

    seconds: float | None = None
    probes = False


_thread = _OfThread()
_long_waits = threading.BoundedSemaphore(most_in_all())  # held by threads that wait longer than SHORT
_state = threading.Lock()  # guards the next two
_probing = False  # whether a thread probes the database
_away_since = 0.0  # on the monotonic clock: since when no connection succeeds; 0 if the last one did
_is_hung = False  # whether the last probe got no answer


def begin(seconds: float) -> None:
    """Limits each wait of this thread for the database to so many seconds, until `end`."""
    _thread.seconds = seconds


def end() -> None:
    """Ends the limit of this thread."""
    _thread.seconds = None


@contextmanager
def bounded(seconds: float) -> Iterator[None]:
    """Limits the waits inside the block. A shorter limit that is set already stays in force."""
    before = _thread.seconds
    begin(seconds if before is None else min(seconds, before))
    try:
        yield
    finally:
        _thread.seconds = before


class BoundedConnection(psycopg.Connection[Any]):
    """Limits `wait`, through which every wait for the server goes, including BEGIN and COMMIT."""

    _unreplicated = False  # whether the server has stopped waiting for its synchronous standby

    @classmethod
    def connect(cls, *args: Any, **params: Any) -> Self:
        opened = super().connect(*args, **params)
        note = WeakMethod(opened.note)  # the connection must not keep itself alive
        opened.add_notice_handler(lambda notice: (method := note()) and method(notice))
        return opened

    def wait(self, gen: Any, *args: Any, **kwargs: Any) -> Any:
        seconds = _thread.seconds
        try:
            result = super().wait(gen if seconds is None else _limited(gen, self, seconds), *args, **kwargs)
        except psycopg.Error as error:
            refused_writes.note(error.sqlstate)
            raise
        if self._unreplicated:
            self._unreplicated = False
            raise psycopg.OperationalError("The COMMIT is not known to have reached the standby.")
        return result

    def note(self, notice: psycopg.errors.Diagnostic) -> None:
        """A notice handler. Somebody canceled the wait for the standby, and the COMMIT counts as done.

        The name of the server's function is not translated, and the warning has no code of its own.
        """
        if notice.source_function == "SyncRepWaitForLSN":
            log.error("commit_perhaps_not_replicated")
            self._unreplicated = True


def connected(connect: Connect, params: dict[str, Any]) -> Any:
    """A new connection by `connect`. One for a request has the timeouts of requests (DATABASE_LIMITS).

    Raises psycopg.OperationalError, at once while the server hangs or when all other threads wait for it.
    """
    seconds = _thread.seconds
    if seconds is None:
        return connect(params)
    _refuse_while_it_hangs()
    # While probing there is no timeout, because a wait was cut off a moment ago.
    if not _long_waits.acquire(timeout=0 if _probing else SHORT):
        raise psycopg.OperationalError("All other threads are waiting for the database already.")
    try:
        options = f"{settings.DATABASE_LIMITS} {params.get('options', '')}".strip()
        params = {**params, "options": options} if options else params
        return _when_taken_over(connect, params, seconds)
    except psycopg.errors.ConnectionTimeout:
        _start_probe()
        raise
    finally:
        _long_waits.release()


def _when_taken_over(connect: Connect, params: dict[str, Any], seconds: float) -> Any:
    """Connects. If DATABASE_URL names several hosts, one may be about to take over: tries again for a while.

    Once no host has taken over in time, later requests fail at once, so that they do not occupy the threads.
    """
    global _away_since
    _away_since = _away_since or monotonic()
    end = _away_since + min(TAKEOVER, seconds) if "," in str(params.get("host")) else 0.0
    while monotonic() < end:
        with suppress(psycopg.OperationalError):
            opened, _away_since = connect(params), 0.0
            return opened
        sleep(0.1)
    opened, _away_since = connect(params), 0.0
    return opened


def _limited(gen: Any, raw: Any, seconds: float) -> Any:
    """psycopg's generator with a limit. It receives 0 every 0.1 s while nothing arrives from the server."""
    if not _thread.probes:
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
    """Shuts down the socket, so that libpq notices. `cancel` would need an answer of the hung server."""
    log.error("database_did_not_answer")
    with suppress(OSError, psycopg.Error):  # the socket is closed already
        # The socket is not duplicated, because there may be no free file descriptor.
        connected = socket.socket(fileno=raw.pgconn.socket)
        try:
            connected.shutdown(socket.SHUT_RDWR)
        finally:
            connected.detach()
    _start_probe()


def _refuse_while_it_hangs() -> None:
    if _is_hung:
        raise psycopg.OperationalError("The database did not answer a moment ago.")


def _start_probe() -> None:
    """Starts to probe the server in the background, unless a thread does so already."""
    global _probing
    if _thread.probes:
        return
    with _state:
        if _probing:
            return
        _probing = True
    try:
        params = connections[DEFAULT_DB_ALIAS].get_connection_params()
        threading.Thread(target=_probe, args=(params,), daemon=True, name="database-probe").start()
    except Exception:  # such as no free thread; the next wait that is cut off tries again
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
    """Whether the server answers a connection and a statement in time.

    A prompt refusal, such as "too many connections", counts as an answer, because it blocks no thread.
    """
    began = monotonic()
    try:
        with BoundedConnection.connect(
            **{**params, "connect_timeout": PROBE_TIMEOUT, "autocommit": True}
        ) as raw:
            raw.execute("SELECT 1")
    except psycopg.Error:
        return monotonic() - began < PROMPT
    except Exception:  # such as OSError without a free file descriptor; it must not end this thread
        return False
    return True
