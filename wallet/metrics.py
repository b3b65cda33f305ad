"""Metrics of identity checks, computed from the database."""

from calendar import SATURDAY
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta

from django.db.models import Count, Min, Q
from django.utils.timezone import now
from prometheus_client.core import GaugeMetricFamily

from infra.gauges import gauges
from wallet.identity.state_machine import OPEN
from wallet.models import IdentityVerification

State = IdentityVerification.State
DAY = timedelta(days=1)


def identity_metrics() -> Iterator[GaugeMetricFamily]:
    """docs/reference.md lists the metrics and the alerts."""
    moment = now()
    yield from _reviews(moment)
    yield _attempts(
        "identity_verifications_open",
        "Identity checks that have not ended, by state.",
        [state for state in State if state in OPEN],
        Q(state__in=OPEN),
    )
    yield _attempts(
        "identity_verifications_ended",
        "Identity checks that ended in the last 24 hours, by state.",
        [state for state in State if state not in OPEN],
        ~Q(state__in=OPEN) & Q(changed_at__gt=moment - DAY),
    )


def waiting_reviews() -> tuple[int, datetime | None]:
    """How many identity checks operators have to decide, and since when the oldest waits."""
    waiting = IdentityVerification.objects.filter(state=State.REVIEW)
    summary = waiting.aggregate(count=Count("id"), oldest=Min("changed_at"))
    return summary["count"], summary["oldest"]


def _reviews(moment: datetime) -> Iterator[GaugeMetricFamily]:
    count, since = waiting_reviews()
    text = "Identity checks that operators have to decide."
    yield GaugeMetricFamily("identity_reviews_waiting", text, value=count)
    oldest = since or moment
    waited, late = moment - oldest, moment - promised_by(oldest)
    text = "For how long the oldest of them has waited; 0: none does."
    yield GaugeMetricFamily("identity_review_oldest_seconds", text, value=waited.total_seconds())
    text = "For how long it has waited beyond what its holder was promised; 0: it has not."
    yield GaugeMetricFamily("identity_review_overdue_seconds", text, value=max(late.total_seconds(), 0.0))


def promised_by(since: datetime) -> datetime:
    """The end of the next working day (UTC), which `wallet/identity_review.html` promises."""
    day = since.astimezone(UTC).date() + DAY
    while day.weekday() >= SATURDAY:
        day += DAY
    return datetime.combine(day + DAY, time.min, UTC)


def _attempts(name: str, text: str, states: list[State], where: Q) -> GaugeMetricFamily:
    """Every state has a number, 0 as well, so that alerts can rely on it."""
    rows = IdentityVerification.objects.filter(where).order_by().values_list("state")
    counts: dict[str, int] = dict(rows.annotate(Count("id")))
    return gauges(name, text, "state", {state.value: counts.get(state, 0) for state in states})
