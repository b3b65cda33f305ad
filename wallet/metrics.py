"""Metrics of identity checks and of the regular commands, computed from the database."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.db.models import Count, Min, Q
from django.utils.timezone import now
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from infra import runs
from wallet.identity.state_machine import OPEN
from wallet.models import IdentityVerification

State = IdentityVerification.State
DAY = timedelta(days=1)


class IdentityCollector(Collector):
    """docs/operate.md lists the metrics and the alerts."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
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
        ages = GaugeMetricFamily(
            "last_run_seconds", "Seconds since a regular command last ran to its end.", labels=["command"]
        )
        for command, age in runs.ages(now=moment).items():
            ages.add_metric([command], age.total_seconds())
        yield ages


def _reviews(moment: datetime) -> Iterator[GaugeMetricFamily]:
    waiting = IdentityVerification.objects.filter(state=State.REVIEW)
    found = waiting.aggregate(count=Count("id"), oldest=Min("changed_at"))
    yield GaugeMetricFamily(
        "identity_reviews_waiting", "Identity checks that operators have to decide.", value=found["count"]
    )
    yield GaugeMetricFamily(
        "identity_review_oldest_seconds",
        "For how long the oldest of them has waited; 0: none does.",
        value=(moment - found["oldest"]).total_seconds() if found["oldest"] else 0.0,
    )


def _attempts(name: str, text: str, states: list[State], where: Q) -> GaugeMetricFamily:
    """Every state has a number, 0 as well, so that alerts can rely on it."""
    rows = IdentityVerification.objects.filter(where).order_by().values_list("state")
    counts: dict[str, int] = dict(rows.annotate(Count("id")))
    family = GaugeMetricFamily(name, text, labels=["state"])
    for state in states:
        family.add_metric([state.value], counts.get(state, 0))
    return family
