"""The metrics of the outbox."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Min, Q
from django.utils import timezone
from prometheus_client.core import CounterMetricFamily, Metric

from infra import totals
from infra.gauges import gauges
from infra.mail import queue
from infra.mail.models import OutgoingEmail

State = OutgoingEmail.State


def ended_emails(*, since: datetime | None = None) -> dict[str, int]:
    """How many e-mails ended in each state, of those of the last seven days that are kept."""
    emails = OutgoingEmail.objects.filter(ended_at__isnull=False).order_by()
    if since:
        emails = emails.filter(ended_at__gt=since)
    return dict(emails.values_list("state").annotate(Count("id")))


@dataclass(frozen=True)
class Waiting:
    """E-mails that are to be sent. overdue: for how long one that may be sent has waited for the worker."""

    count: int = 0
    overdue: timedelta = timedelta(0)


def waiting_emails(now: datetime) -> dict[bool, Waiting]:
    """By whether they are urgent: people wait for codes and links to sign in."""
    rows = OutgoingEmail.objects.filter(state=State.WAITING, expires_at__gt=now).order_by()
    free = Q(leased_until=None) | Q(leased_until__lte=now)
    due = Min("due_at", filter=free & Q(due_at__lte=now))
    waiting = {True: Waiting(), False: Waiting()}
    for group in rows.values("urgent").annotate(count=Count("id"), since=due):
        overdue = now - group["since"] if group["since"] else timedelta(0)
        waiting[group["urgent"]] = Waiting(group["count"], overdue)
    return waiting


def email_metrics() -> Iterator[Metric]:
    """Counts e-mails by two queries."""
    waiting = {str(urgent).lower(): group for urgent, group in waiting_emails(timezone.now()).items()}
    counts = {urgent: group.count for urgent, group in waiting.items()}
    yield gauges("emails_waiting", "E-mails that are to be sent.", "urgent", counts)
    text = "For how long an e-mail that may be sent has waited for the worker; 0: none does."
    seconds = {urgent: group.overdue.total_seconds() for urgent, group in waiting.items()}
    yield gauges("emails_overdue_seconds", text, "urgent", seconds)
    numbers = ended_emails()
    ends = [state.value for state in (State.SENT, State.REFUSED, State.TOO_LATE, State.DROPPED)]
    text = "E-mails of the last seven days that were sent or given up."
    yield gauges("emails_ended", text, "state", {state: numbers.get(state, 0) for state in ends})
    text = "E-mails that were sent or given up, since the database was made."
    ended = CounterMetricFamily("email_ends", text, labels=["state"])
    for state, count in totals.of(map(queue.total_of, ends)).items():
        ended.add_metric([state.removeprefix(queue.TOTAL)], count)
    yield ended
