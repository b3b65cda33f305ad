"""Rate limits, counted in the database so that all instances share them.

A subject, such as an e-mail address or a client address, is stored as a keyed digest only.
"""

import math
import secrets
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Self

import structlog
from django.conf import settings
from django.db import connection
from django.db.models import F
from django.utils.crypto import salted_hmac

from infra.models import Allowance

log = structlog.get_logger(__name__)

# One atomic upsert: insert 1, or increment while below the limit. Django's ORM cannot express it.
_TAKE = """
    INSERT INTO wallet_allowance (key, count, expires_at) VALUES (%s, 1, %s)
    ON CONFLICT (key) DO UPDATE SET count = wallet_allowance.count + 1 WHERE wallet_allowance.count < %s
"""
# Inserts a slot, or takes over one that has expired.
_TAKE_SLOT = """
    INSERT INTO wallet_allowance (key, count, expires_at) VALUES (%s, 1, %s)
    ON CONFLICT (key) DO UPDATE SET count = 1, expires_at = excluded.expires_at
    WHERE wallet_allowance.expires_at <= %s
"""


class LimitReachedError(Exception):
    """The limit is reached; `retry_at` is the time when the action is allowed again."""

    def __init__(self, retry_at: datetime) -> None:
        super().__init__("limit reached")
        self.retry_at = retry_at

    def retry_after(self, now: datetime) -> str:
        """The value of a `Retry-After` header, in seconds (RFC 9110 §10.2.3)."""
        return str(max(1, math.ceil((self.retry_at - now).total_seconds())))


@dataclass(frozen=True)
class _Numbers:
    """The numbers of a limit. `purpose` keeps the counts of different limits apart."""

    purpose: str
    most: int
    window: timedelta

    @classmethod
    def from_settings(cls, purpose: str) -> Self:
        """The limit with the numbers that the operator chose; `config.limits` lists them all."""
        return cls(purpose, *settings.LIMITS[purpose])


class Limit(_Numbers):
    """Allows an action `most` times per fixed `window` for each subject."""

    def take(self, subject: str, *, now: datetime) -> None:
        """Counts one more use, atomically; raises `LimitReachedError` when there is none left."""
        renewed_at = self.renewed_at(now)
        until = connection.ops.adapt_datetimefield_value(renewed_at)
        with connection.cursor() as cursor:
            cursor.execute(_TAKE, [self._key(subject, now), until, self.most])
            if cursor.rowcount != 1:
                raise LimitReachedError(renewed_at)

    def give_back(self, subject: str, *, taken_at: datetime) -> None:
        """Undoes one use that was counted at `taken_at`."""
        row = Allowance.objects.filter(key=self._key(subject, taken_at), count__gt=0)
        row.update(count=F("count") - 1)

    def left(self, subject: str, *, now: datetime) -> int:
        """How many uses are left in this window."""
        row = Allowance.objects.filter(key=self._key(subject, now)).values_list("count", flat=True)
        return max(0, self.most - (row.first() or 0))

    def renewed_at(self, now: datetime) -> datetime:
        """When the next window begins."""
        return datetime.fromtimestamp((self._index(now) + 1) * self.window.total_seconds(), UTC)

    def _index(self, now: datetime) -> int:
        return int(now.timestamp() // self.window.total_seconds())

    def _key(self, subject: str, now: datetime) -> str:
        return _key(self.purpose, f"{self._index(now)}\n{subject}")


class ClientLimit(Limit):
    """A limit for each client address, as `infra.browser.address` reads it.

    Nothing is counted for an address that cannot be read: all people behind the proxy would be one client.
    The doctor's check `client_addresses` says so, because nothing but other limits holds then.
    """

    def take(self, subject: str | None, *, now: datetime) -> None:
        """As `Limit.take`; without an address it only notes that for the doctor."""
        if subject is not None:
            super().take(subject, now=now)
            return
        with suppress(LimitReachedError):  # noted already
            _UNREAD_ADDRESSES.take("", now=now)
            log.warning("client_address_not_read")


class RollingLimit(_Numbers):
    """Allows an action `most` times within any period of the length `window`, for each subject.

    Each use occupies one of `most` slots, each a row, for the length of the window. A fixed window would
    allow up to twice as many uses around its end.
    """

    def take(self, subject: str, *, now: datetime) -> None:
        """Takes a free slot, atomically; raises `LimitReachedError` when there is none."""
        slots = self.slots(subject)
        while True:
            rows = Allowance.objects.filter(key__in=slots, expires_at__gt=now)
            taken = dict(rows.values_list("key", "expires_at"))
            free = [slot for slot in slots if slot not in taken]
            if not free:
                raise LimitReachedError(min(taken.values()))
            if self._take_slot(secrets.choice(free), now):  # else another request took it first
                return

    def give_back(self, subject: str, *, taken_at: datetime) -> None:
        """Frees one slot that was taken at `taken_at`."""
        rows = Allowance.objects.filter(expires_at=taken_at + self.window, key__in=self.slots(subject))
        # Slots taken at the same time are equal: another request may free this one and leave its own.
        while (slot := rows.values_list("key", flat=True).first()) is not None:
            if rows.filter(key=slot).delete()[0]:
                return

    def _take_slot(self, slot: str, now: datetime) -> bool:
        until, since = map(connection.ops.adapt_datetimefield_value, (now + self.window, now))
        with connection.cursor() as cursor:
            cursor.execute(_TAKE_SLOT, [slot, until, since])
            return bool(cursor.rowcount == 1)

    def slots(self, subject: str) -> list[str]:
        """The keys of all slots, taken or not."""
        return [_key(self.purpose, f"{number}\n{subject}") for number in range(self.most)]


# A slot that is taken by the first client address that cannot be read; for the doctor, which runs more often.
_UNREAD_ADDRESSES = RollingLimit("unread-client-addresses", most=1, window=timedelta(hours=1))


def addresses_unread(*, now: datetime) -> bool:
    """Whether there was a client address within the last hour that could not be read."""
    slots = _UNREAD_ADDRESSES.slots("")
    return Allowance.objects.filter(key__in=slots, expires_at__gt=now).exists()


def take(limit: Limit | RollingLimit, subject: str, *, now: datetime, taken: ExitStack) -> None:
    """Takes from a limit, and gives it back when `taken` is closed; raises `LimitReachedError`."""
    limit.take(subject, now=now)
    taken.callback(limit.give_back, subject, taken_at=now)


def take_all(*wanted: tuple[Limit | RollingLimit, str], now: datetime, taken: ExitStack) -> bool:
    """Takes from all limits or from none; gives whether all could be taken."""
    with ExitStack() as all_of_them:
        for limit, subject in wanted:
            try:
                take(limit, subject, now=now, taken=all_of_them)
            except LimitReachedError:
                return False
        taken.callback(all_of_them.pop_all().close)
    return True


def _key(purpose: str, value: str) -> str:
    # The salt names `wallet`, where this module was before. It must stay, because stored keys depend on it.
    return salted_hmac(f"wallet.limits.{purpose}", value, algorithm="sha256").hexdigest()
