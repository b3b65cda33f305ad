"""The keys that relying applications publish themselves (`jwks_uri`): fetched when needed, kept a while."""

from collections import OrderedDict
from contextlib import ExitStack
from threading import Lock
from time import monotonic

import structlog
from django.conf import settings

from infra.outbound.calls import Outbound, OutboundError
from infra.outbound.lanes import NoLaneFreeError, lane
from presentation.relying_parties.metadata.public_keys import (
    ClientKeys,
    ClientKeysError,
    from_json,
    read_published,
)

log = structlog.get_logger(__name__)

KEPT = 300.0  # seconds
FETCHED_EVERY = 60.0  # seconds between two tries, whoever asks for a key that is not there
MOST = 1000  # addresses remembered per process
SOON = 5  # seconds; fetching takes no longer

outbound = Outbound(loopback=settings.LOOPBACK_CALLS)


class KeysUnderWayError(Exception):
    """Another request is fetching the keys just now, and this one was not there before: come again soon."""


class _Fetched:
    """What one address gave; its lock is held while it is asked."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.keys: ClientKeys = {}
        self.fetched_at = self.tried_at = float("-inf")  # on the monotonic clock

    def is_fresh(self) -> bool:
        return monotonic() - self.fetched_at < KEPT

    def is_due(self, kid: str | None) -> bool:
        missed = not self.is_fresh() or (kid is not None and kid not in self.keys)
        return missed and monotonic() - self.tried_at >= FETCHED_EVERY

    def ask(self, uri: str) -> None:
        self.tried_at = now = monotonic()
        try:
            self.keys, self.fetched_at = _fetch(uri), now
        except (OutboundError, ClientKeysError) as error:
            log.warning("client_keys_not_fetched", reason=str(error))
            if not self.is_fresh():
                self.keys = {}


_fetched: OrderedDict[str, _Fetched] = OrderedDict()
_lock = Lock()


def published_at(uri: str, *, kid: str | None) -> ClientKeys:
    """The keys at this address, not older than five minutes; none when it does not answer as it should.

    Asks again, once a minute at most, when the key `kid` is not among them. Nobody waits for somebody else's
    asking, because an address that is slow to answer would hold every thread: meanwhile what was there before
    counts. The same holds while too many threads wait for relying applications. Raises KeysUnderWayError when
    the key was not there.
    """
    entry, under_way = _entry(uri), False
    if entry.is_due(kid) and entry.lock.acquire(blocking=False):
        try:
            if entry.is_due(kid):  # unless somebody was quicker
                under_way = not _ask(entry, uri)
        finally:
            entry.lock.release()
    under_way = under_way or entry.lock.locked()
    if under_way and not (entry.keys if kid is None else kid in entry.keys):
        raise KeysUnderWayError
    return entry.keys if under_way or entry.is_fresh() else {}


def forget() -> None:
    """Fetch everything anew when it is asked for."""
    with _lock:
        _fetched.clear()


def _entry(uri: str) -> _Fetched:
    with _lock:
        entry = _fetched.setdefault(uri, _Fetched())
        _fetched.move_to_end(uri)
        if len(_fetched) > MOST:
            _fetched.popitem(last=False)
        return entry


def _ask(entry: _Fetched, uri: str) -> bool:
    """Ask the address for its keys; False, and nothing was asked, when too many threads wait already."""
    with ExitStack() as held:
        try:
            held.enter_context(lane(("keys", uri)))
        except NoLaneFreeError:
            return False
        entry.ask(uri)
        return True


def _fetch(uri: str) -> ClientKeys:
    answer = outbound.get(uri, accept="application/jwk-set+json, application/json")
    if answer.status != 200:
        raise OutboundError(f"It answered with status {answer.status}.")
    try:
        text = answer.body.decode("utf-8-sig")  # with a byte order mark or without (RFC 8259 §8.1)
    except UnicodeDecodeError:
        raise ClientKeysError("It did not answer in UTF-8.") from None
    return read_published(from_json(text))
