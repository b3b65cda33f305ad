"""The metrics of the outbox."""

from collections.abc import Iterator

from django.db.models import Count, Min, Q
from django.utils import timezone
from prometheus_client.core import GaugeMetricFamily

from infra.gauges import gauges
from infra.mail.models import OutgoingEmail

State = OutgoingEmail.State


def ended_emails() -> dict[str, int]:
    """How many e-mails of the last seven days ended in each state."""
    found = OutgoingEmail.objects.filter(ended_at__isnull=False).order_by()
    return dict(found.values_list("state").annotate(Count("id")))


def email_metrics() -> Iterator[GaugeMetricFamily]:
    """Counts e-mails by two queries. Codes and links to sign in are told apart: people wait for them."""
    moment = timezone.now()
    rows = OutgoingEmail.objects.filter(state=State.WAITING, expires_at__gt=moment).order_by()
    free = Q(leased_until=None) | Q(leased_until__lte=moment)
    due = Min("due_at", filter=free & Q(due_at__lte=moment))
    groups = rows.values("urgent").annotate(count=Count("id"), since=due)
    counted = {group["urgent"]: (group["count"], group["since"]) for group in groups}
    count, seconds = {}, {}
    for urgent in (True, False):
        count[str(urgent).lower()], since = counted.get(urgent, (0, None))
        seconds[str(urgent).lower()] = (moment - since).total_seconds() if since else 0.0
    yield gauges("emails_waiting", "E-mails that are to be sent.", "urgent", count)
    text = "For how long an e-mail that may be sent has waited for the worker; 0: none does."
    yield gauges("emails_overdue_seconds", text, "urgent", seconds)
    numbers = ended_emails()
    ends = [state.value for state in (State.SENT, State.REFUSED, State.TOO_LATE, State.DROPPED)]
    text = "E-mails of the last seven days that were sent or given up."
    yield gauges("emails_ended", text, "state", {state: numbers.get(state, 0) for state in ends})
