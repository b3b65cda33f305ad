"""Counts requests by relying party, hour and outcome, and reads the statistics of a period.

Requests without a credential are deleted a day after they expired, so `store_ended_hours` stores the
statistics of each hour before. What is newer is counted from the requests themselves.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Count, Max, Q, Sum
from django.db.models.functions import TruncHour

from presentation.errors import AccessDeniedError
from presentation.models import Interaction, RelyingParty
from presentation.requests import more_time
from presentation.statistics.models import RequestCount

HOUR = timedelta(hours=1)
# After an hour all its requests have ended, and so have the processes that could still answer one.
ENDED = more_time.LONGEST + timedelta(minutes=10)
# What is deleted is older than this, see `presentation.retention`.
STILL_THERE = timedelta(days=1)
KEPT = timedelta(days=400)
_AT_ONCE = timedelta(hours=24)  # of requests that one statement counts

_DECLINED = Q(outcome=Interaction.Outcome.ERROR, error=AccessDeniedError.error)
_OUTCOMES = {
    "asked": Count("id"),
    "granted": Count("id", filter=Q(outcome=Interaction.Outcome.TOKEN)),
    "declined": Count("id", filter=_DECLINED),
    "failed": Count("id", filter=Q(outcome=Interaction.Outcome.ERROR) & ~_DECLINED),
}


@dataclass(frozen=True)
class Counts:
    """The requests of a period and how they ended. `declined` are all answers with `access_denied`."""

    asked: int = 0
    granted: int = 0
    declined: int = 0
    failed: int = 0

    @property
    def unanswered(self) -> int:
        """Those that are open or expired without an answer."""
        return self.asked - self.granted - self.declined - self.failed


def hour_of(moment: datetime) -> datetime:
    """The beginning of its hour (UTC)."""
    return moment.astimezone(UTC).replace(minute=0, second=0, microsecond=0)


def store_ended_hours(*, now: datetime) -> int:
    """Stores the statistics of every hour that has ended and is not stored yet; gives the number of rows.

    To be called before requests are deleted. Two processes may call it at the same time.
    """
    end = hour_of(now - ENDED)
    last = RequestCount.objects.aggregate(last=Max("hour"))["last"]
    start = last + HOUR if last else hour_of(now - STILL_THERE)
    inserted = 0
    while start < end:
        until = min(start + _AT_ONCE, end)
        counted = [
            RequestCount(relying_party_id=row["relying_party"], hour=row["hour"], **_of(row))
            for row in _live(start, until).values("relying_party", "hour").annotate(**_OUTCOMES).order_by()
        ]
        RequestCount.objects.bulk_create(counted, ignore_conflicts=True)
        inserted += len(counted)
        start = until
    return inserted


def by_hour(
    start: datetime, end: datetime, *, relying_party: RelyingParty | None = None
) -> dict[datetime, Counts]:
    """The statistics of each hour from `start` until `end`, of one relying party or of all.

    Hours without requests are left out. Both moments are beginnings of hours.
    """
    last = RequestCount.objects.aggregate(last=Max("hour"))["last"]
    live_from = max(start, last + HOUR) if last else start
    stored = RequestCount.objects.filter(hour__gte=start, hour__lt=end)
    live = _live(live_from, end)
    if relying_party is not None:
        stored, live = stored.filter(relying_party=relying_party), live.filter(relying_party=relying_party)
    sums = {name: Sum(name) for name in _OUTCOMES}
    rows: list[Any] = [*stored.values("hour").annotate(**sums).order_by("hour")] if live_from > start else []
    if live_from < end:
        rows += live.values("hour").annotate(**_OUTCOMES).order_by("hour")
    return {row["hour"]: Counts(**_of(row)) for row in rows}


def by_day(
    start: datetime, end: datetime, *, relying_party: RelyingParty | None = None
) -> Iterator[tuple[datetime, Counts]]:
    """The statistics of each day (UTC) from `start` until before `end`, also of days without requests."""
    hours = by_hour(start, end, relying_party=relying_party)
    while start < end:
        following = start + timedelta(days=1)
        yield start, total(counts for hour, counts in hours.items() if start <= hour < following)
        start = following


def total(counts: Iterable[Counts]) -> Counts:
    """Their sum."""
    addends = list(counts)
    return Counts(**{name: sum(getattr(one, name) for one in addends) for name in _OUTCOMES})


def _live(start: datetime, end: datetime) -> Any:
    """The requests made in a period, with their hour. The bounds of `expires_at` lead to its index."""
    made = Interaction.objects.filter(
        expires_at__gte=start, expires_at__lte=end + ENDED, created_at__gte=start, created_at__lt=end
    )
    return made.annotate(hour=TruncHour("created_at", tzinfo=UTC))


def _of(row: dict[str, Any]) -> dict[str, int]:
    return {name: row[name] for name in _OUTCOMES}
