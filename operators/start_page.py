"""The start page of the operators: open tasks and recent failures, as far as their role allows.

Each panel needs a permission, and reads a few rows by an index. `tests/operators/test_start_page.py` counts
the statements.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.models import AbstractUser
from django.db.models import Count, F, Max, Min, OuterRef, Q, Subquery
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.timesince import timesince
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from consent.models import Report
from infra import doctor, runs
from infra.admin.row_ids import short
from infra.alarms.alarm import State
from infra.alarms.table import ALARMS
from infra.models import Diagnosis
from keys.rotation.plan import in_use, outlook
from keys.rotation.report import together
from presentation.errors import AccessDeniedError
from presentation.models import Interaction, RelyingParty
from presentation.statistics import counting
from presentation.statistics.chart import Chart
from presentation.webhooks.models import WebhookEndpoint, WebhookEvent
from wallet.metrics import promised_by
from wallet.models import IdentityVerification

SHOWN = 10  # rows of a panel
KEYS_AHEAD = timedelta(days=30)
REPORTS_SINCE = timedelta(days=30)
ERRORS_SINCE = timedelta(days=1)  # how long refused requests are kept


@dataclass(frozen=True)
class Row:
    """A line of a panel. text: a sentence; address: of the page with more, or empty."""

    text: str
    address: str = ""
    urgent: bool = False


@dataclass(frozen=True)
class Panel:
    """A part of the start page. name: for the address `#name` and for CSS; calm: nothing has to be done."""

    name: str
    title: str
    summary: str
    rows: tuple[Row, ...] = ()
    calm: bool = True
    link: tuple[str, str] | None = None  # address and label
    context: dict[str, Any] = field(default_factory=dict)


def panels(user: AbstractUser, *, now: datetime) -> list[Panel]:
    """The panels that this operator may see; those where something has to be done are first."""
    visible = [make(now) for permissions, make in _PANELS if any(map(user.has_perm, permissions))]
    return sorted(visible, key=lambda panel: panel.calm)


def _reviews(now: datetime) -> Panel:
    state = IdentityVerification.State.REVIEW
    waiting = IdentityVerification.objects.filter(state=state)
    facts = waiting.aggregate(
        count=Count("id"), oldest=Min("changed_at"), free=Count("id", filter=Q(claimed_by=None))
    )
    if not facts["count"]:
        return Panel("reviews", _("Identity reviews"), _("No identity check waits for a decision."))
    count = ngettext(
        "%(count)d identity check waits for a decision.",
        "%(count)d identity checks wait for a decision.",
        facts["count"],
    )
    text = _("The oldest has waited for %(age)s. Not claimed by anybody: %(free)d.")
    facts["age"] = timesince(facts["oldest"], now)
    row = Row(text % facts, urgent=now > promised_by(facts["oldest"]))
    address = _list("wallet_identityverification", state__exact=state.value)
    link = (address, _("Review them, the oldest first"))
    return Panel("reviews", _("Identity reviews"), count % facts, (row,), calm=False, link=link)


def _keys(now: datetime) -> Panel:
    report = together([outlook(now=now, kind=kind) for kind in in_use()])
    address = reverse("admin:keys_signingkey_changelist")
    near = [entry for entry in report.next if entry.at <= now + KEYS_AHEAD]
    rows = [Row(entry.text, address, urgent=True) for entry in report.problems]
    rows += [Row(entry.text, address, urgent=entry.at <= now) for entry in near]
    urgent = any(row.urgent for row in rows)
    if urgent:
        summary = _("Something is due.")
    else:
        days = {"days": KEYS_AHEAD.days}
        summary = _("Planned for the next %(days)d days:") if rows else _("Nothing is due in %(days)d days.")
        summary %= days
    link = (address, _("Signing keys"))
    return Panel("keys", _("Keys and certificates"), summary, tuple(rows), calm=not urgent, link=link)


def _webhooks(now: datetime) -> Panel:
    failing = WebhookEndpoint.objects.select_related("relying_party").exclude(relying_party__webhook_url="")
    is_gone = Q(gone_url=F("relying_party__webhook_url"))
    failing = failing.filter(Q(failing_since__isnull=False) | is_gone).order_by("failing_since")
    endpoints, count = list(failing[:SHOWN]), failing.count()
    given_up = WebhookEvent.objects.filter(state=WebhookEvent.State.GIVEN_UP).count()
    rows = [
        Row(
            _of_endpoint(endpoint, now),
            _list("presentation_webhookevent", q=endpoint.relying_party.client_id),
            urgent=True,
        )
        for endpoint in endpoints
    ]
    if given_up:
        address = _list("presentation_webhookevent", state__exact=WebhookEvent.State.GIVEN_UP.value)
        text = ngettext(
            "%(count)d webhook of the last 30 days was given up.",
            "%(count)d webhooks of the last 30 days were given up.",
            given_up,
        )
        rows.append(Row(text % {"count": given_up}, address))
    failing_now = ngettext(
        "The address of %(count)d relying party does not take webhooks.",
        "The addresses of %(count)d relying parties do not take webhooks.",
        count,
    )
    summary = failing_now % {"count": count} if endpoints else _("No address fails.")
    link = (reverse("admin:presentation_webhookevent_changelist"), _("Delivery log"))
    return Panel("webhooks", _("Webhooks"), summary, tuple(rows), calm=not endpoints, link=link)


def _of_endpoint(endpoint: WebhookEndpoint, now: datetime) -> str:
    name = endpoint.relying_party.name
    if endpoint.failing_since is None:
        return _("%(name)s: the address answered that it is gone for good (410).") % {"name": name}
    facts = {"name": name, "count": endpoint.failures, "age": timesince(endpoint.failing_since, now)}
    text = ngettext(
        "%(name)s: %(count)d failed try, failing for %(age)s.",
        "%(name)s: %(count)d failed tries, failing for %(age)s.",
        endpoint.failures,
    )
    return text % facts


def _reports(now: datetime) -> Panel:
    lately = Report.objects.filter(reported_at__gte=now - REPORTS_SINCE).values("requester_id")
    name = RelyingParty.objects.filter(client_id=OuterRef("requester_id")).values("name")
    lately = lately.annotate(count=Count("id"), newest=Max("reported_at"), name=Subquery(name))
    rows = []
    for one in lately.order_by("-count")[:SHOWN]:
        facts = {**one, "name": one["name"] or one["requester_id"], "age": timesince(one["newest"], now)}
        text = _("%(name)s: reports %(count)d, the newest %(age)s ago.") % facts
        rows.append(Row(text, _list("consent_report", q=one["requester_id"]), urgent=True))
    summary = _("What holders reported in %(days)d days:") if rows else _("No reports in %(days)d days.")
    summary %= {"days": REPORTS_SINCE.days}
    return Panel("reports", _("Reports by holders"), summary, tuple(rows), calm=not rows)


def _answers(now: datetime) -> Panel:
    start = timezone.localtime(now).replace(hour=0, minute=0, second=0, microsecond=0)
    figures = counting.by_hour(start, counting.hour_of(now) + counting.HOUR)
    total = counting.total(figures.values())
    summary = ngettext("%(count)d request today.", "%(count)d requests today.", total.asked)
    link = (reverse("admin:presentation_interaction_changelist"), _("Interactions"))
    return Panel(
        "answers",
        _("Requests today, by outcome"),
        summary % {"count": total.asked},
        link=link,
        context={"chart": Chart(figures, start=start), "total": total, "day": start},
    )


def _errors(now: datetime) -> Panel:
    refused = Interaction.objects.filter(
        ~Q(outcome=Interaction.Outcome.TOKEN), expires_at__gte=now - ERRORS_SINCE
    ).filter(outcome=Interaction.Outcome.ERROR)
    last = (
        refused.exclude(error=AccessDeniedError.error)
        .select_related("relying_party")
        .only("id", "error", "answered_at", "expires_at", "relying_party__name")
        .order_by("-expires_at")[:SHOWN]
    )
    rows = tuple(
        Row(
            _("%(code)s · %(name)s · %(at)s · reference %(reference)s")
            % {
                "code": one.error,
                "name": one.relying_party.name,
                "at": date_format(timezone.localtime(one.answered_at), "H:i"),
                "reference": short(one.id),
            },
            reverse("admin:presentation_interaction_change", args=[one.pk]),
        )
        for one in last
    )
    summary = _("The last requests that were answered with an error:") if rows else _("None since yesterday.")
    return Panel("errors", _("Last errors"), summary, rows)


def _doctor(now: datetime) -> Panel:
    findings = Diagnosis.objects.exclude(state=State.OK).order_by("-state", "name")
    rows: tuple[Row, ...] = tuple(
        Row(f"{finding.name}: {finding.seen} To do: {finding.todo}.", urgent=finding.state == State.NOW)
        for finding in findings
    )
    away = runs.worker_away(now=now)  # who is away can run no check
    if ALARMS["worker"].state(away.total_seconds()):
        text = _("No worker was seen for %(age)s: does manage.py worker run?")
        rows = (Row(text % {"age": timesince(now - away, now)}, urgent=True), *rows)
    age = runs.ages(now=now).get("doctor", doctor.LATE)
    if age >= doctor.LATE:
        text = _("Nothing was checked for %(age)s: does manage.py worker run?")
        rows = (Row(text % {"age": timesince(now - age, now)}, urgent=True), *rows)
    summary = _("manage.py doctor has found:") if rows else _("All checks of manage.py doctor pass.")
    return Panel("doctor", _("Checks of the service"), summary, rows, calm=not rows)


def _list(name: str, **filters: str) -> str:
    return f"{reverse(f'admin:{name}_changelist')}?{urlencode(filters)}"


# The permissions, one of which is enough, and the panel.
_RELYING_PARTIES = ("presentation.view_relyingparty", "presentation.change_relyingparty")
_KEYS = ("keys.view_signingkey", "keys.change_signingkey")
_PANELS: tuple[tuple[tuple[str, ...], Callable[[datetime], Panel]], ...] = (
    (("wallet.view_identityverification", "wallet.change_identityverification"), _reviews),
    (_KEYS, _keys),
    (_RELYING_PARTIES, _webhooks),
    (_RELYING_PARTIES, _reports),
    ((*_RELYING_PARTIES, *_KEYS), _doctor),
    (("presentation.view_interaction",), _answers),
    (("presentation.view_interaction",), _errors),
)
