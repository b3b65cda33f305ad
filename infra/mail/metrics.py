"""The metrics of the outbox."""

from collections.abc import Iterator

from django.db.models import Count, Min, Q
from django.utils import timezone
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from infra.mail.models import OutgoingEmail

State = OutgoingEmail.State


class EmailCollector(Collector):
    """Counts e-mails. Codes and links to sign in are told apart, because people wait for them."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The numbers of the moment, by two queries."""
        moment = timezone.now()
        waiting = GaugeMetricFamily("emails_waiting", "E-mails that are to be sent.", labels=["urgent"])
        overdue = GaugeMetricFamily(
            "emails_overdue_seconds",
            "For how long an e-mail that may be sent has waited for send_emails; 0: none does.",
            labels=["urgent"],
        )
        rows = OutgoingEmail.objects.filter(state=State.WAITING, expires_at__gt=moment).order_by()
        free = Q(leased_until=None) | Q(leased_until__lte=moment)
        due = Min("due_at", filter=free & Q(due_at__lte=moment))
        groups = rows.values("urgent").annotate(count=Count("id"), since=due)
        counted = {group["urgent"]: (group["count"], group["since"]) for group in groups}
        for urgent in (True, False):
            count, since = counted.get(urgent, (0, None))
            waiting.add_metric([str(urgent).lower()], count)
            overdue.add_metric([str(urgent).lower()], (moment - since).total_seconds() if since else 0.0)
        yield waiting
        yield overdue
        ended = GaugeMetricFamily(
            "emails_ended", "E-mails of the last seven days that were sent or given up.", labels=["state"]
        )
        found = OutgoingEmail.objects.filter(ended_at__isnull=False).order_by()
        numbers = dict(found.values_list("state").annotate(Count("id")))
        for state in (State.SENT, State.REFUSED, State.TOO_LATE, State.DROPPED):
            ended.add_metric([state.value], numbers.get(state.value, 0))
        yield ended
