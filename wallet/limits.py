"""How often something may be done: counted in the database, so that all instances count together.

Fixed windows. A subject (an e-mail address, a client address) is stored as a keyed digest only.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db.models import F
from django.utils.crypto import salted_hmac

from wallet.models import Allowance


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
        row = Allowance(key=self._key(subject, now), count=0, expires_at=self.renewed_at(now))
        Allowance.objects.bulk_create([row], ignore_conflicts=True)
        below = Allowance.objects.filter(key=row.key, count__lt=self.most)
        if below.update(count=F("count") + 1) != 1:
            raise LimitReachedError(row.expires_at)

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
