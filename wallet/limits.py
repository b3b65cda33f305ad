"""How often something may be done: counted in the database, so that all instances count together.

Fixed windows. A subject (an e-mail address, a client address) is stored as a keyed digest only.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db import connection
from django.db.models import F
from django.utils.crypto import salted_hmac

from wallet.models import Allowance

# The first time makes the row, each further one counts it up while it may: one statement, so that no race and
# no more than one query lies in it. Both databases have it; the ORM has not.
_TAKE = """
    INSERT INTO wallet_allowance (key, count, expires_at) VALUES (%s, 1, %s)
    ON CONFLICT (key) DO UPDATE SET count = wallet_allowance.count + 1 WHERE wallet_allowance.count < %s
"""


class LimitReachedError(Exception):
    """It was done as often as it may be; `retry_at` says when it may be done again."""

    def __init__(self, retry_at: datetime) -> None:
        super().__init__("limit reached")
        self.retry_at = retry_at


@dataclass(frozen=True)
class Limit:
    """At most `most` times per `window` for one subject; `purpose` keeps limits apart."""

    purpose: str
    most: int
    window: timedelta

    def take(self, subject: str, *, now: datetime) -> None:
        """Count one more time, atomically; raises `LimitReachedError` instead of going over."""
        renewed_at = self.renewed_at(now)
        with connection.cursor() as cursor:
            cursor.execute(_TAKE, [self._key(subject, now), renewed_at, self.most])
            if cursor.rowcount != 1:
                raise LimitReachedError(renewed_at)

    def give_back(self, subject: str, *, taken_at: datetime) -> None:
        """Uncount one time that was taken at `taken_at`."""
        row = Allowance.objects.filter(key=self._key(subject, taken_at), count__gt=0)
        row.update(count=F("count") - 1)

    def left(self, subject: str, *, now: datetime) -> int:
        """How many more times it may be done in this window."""
        row = Allowance.objects.filter(key=self._key(subject, now)).values_list("count", flat=True)
        return max(0, self.most - (row.first() or 0))

    def renewed_at(self, now: datetime) -> datetime:
        """When the next window begins."""
        return datetime.fromtimestamp((self._index(now) + 1) * self.window.total_seconds(), UTC)

    def _index(self, now: datetime) -> int:
        return int(now.timestamp() // self.window.total_seconds())

    def _key(self, subject: str, now: datetime) -> str:
        value = f"{self._index(now)}\n{subject}"
        return salted_hmac(f"wallet.limits.{self.purpose}", value, algorithm="sha256").hexdigest()
