"""The keys that relying parties publish at their `jwks_uri`: fetched when needed, cached for minutes."""

from collections import OrderedDict
from contextlib import suppress
from threading import Lock
from time import monotonic

import structlog
from django.conf import settings

from infra.outbound.calls import Outbound, OutboundError
from infra.registering import NotRegistrableError
from infra.waiting import NoThreadFreeError, waiting_for
from presentation.relying_parties.metadata import public_keys

log = structlog.get_logger(__name__)

KEPT = 300.0  # seconds
FETCHED_EVERY = 60.0  # seconds between two fetches, even for unknown key ids
MOST = 1000  # addresses in the cache of a process
SOON = 5  # seconds; the longest time that a fetch takes

outbound = Outbound(loopback=settings.LOOPBACK_CALLS)


class KeysUnderWayError(Exception):
    """Another request is fetching the keys, and the cache does not have the key yet; try again soon."""


class _Fetched:
    """The cached keys of one address. The lock is held during a fetch."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.keys: public_keys.ClientKeys = {}
        self.fetched_at = self.tried_at = float("-inf")  # on the monotonic clock

    def is_fresh(self) -> bool:
        return monotonic() - self.fetched_at < KEPT

    def is_due(self, kid: str | None) -> bool:
        missed = not self.is_fresh() or (kid is not None and kid not in self.keys)
        return missed and monotonic() - self.tried_at >= FETCHED_EVERY

    def fetch(self, uri: str) -> None:
        self.tried_at = now = monotonic()
        try:
            self.keys, self.fetched_at = _fetch(uri), now
        except (OutboundError, NotRegistrableError) as error:
            log.warning("client_keys_not_fetched", reason=str(error))
            if not self.is_fresh():
                self.keys = {}


_fetched: OrderedDict[str, _Fetched] = OrderedDict()
_lock = Lock()


def published_at(uri: str, *, kid: str | None) -> public_keys.ClientKeys:
    """The keys at this address, at most five minutes old; none if it does not answer correctly.

    kid: the key that is needed. If it is missing, the keys are fetched again, at most once a minute. While
    another request fetches, or too many threads wait for relying parties, the cached keys count, because a
    slow address could block every thread. Raises KeysUnderWayError if the key is not cached then.
    """
    entry, under_way = _entry(uri), False
    if entry.is_due(kid) and entry.lock.acquire(blocking=False):
        try:
            if entry.is_due(kid):  # another request may have fetched before we had the lock
                under_way = True
                with suppress(NoThreadFreeError), waiting_for(("keys", uri)):
                    entry.fetch(uri)
                    under_way = False
        finally:
            entry.lock.release()
    under_way = under_way or entry.lock.locked()
    if under_way and not (entry.keys if kid is None else kid in entry.keys):
        raise KeysUnderWayError
    return entry.keys if under_way or entry.is_fresh() else {}


def forget() -> None:
    """Empties the cache."""
    with _lock:
        _fetched.clear()


def _entry(uri: str) -> _Fetched:
    with _lock:
        entry = _fetched.setdefault(uri, _Fetched())
        _fetched.move_to_end(uri)
        if len(_fetched) > MOST:
            _fetched.popitem(last=False)
        return entry


def _fetch(uri: str) -> public_keys.ClientKeys:
    answer = outbound.get(uri, accept="application/jwk-set+json, application/json")
    if answer.status != 200:
        raise OutboundError(f"It answered with status {answer.status}.")
    try:
        text = answer.body.decode("utf-8-sig")  # with a byte order mark or without (RFC 8259 §8.1)
    except UnicodeDecodeError:
        raise NotRegistrableError("It did not answer in UTF-8.") from None
    return public_keys.read_published(public_keys.from_json(text))
