"""The e-mails to OPERATOR_ALERTS: one for each change of what the doctor finds, and a summary a day.

A change is that a check is worse or better than when it was last told. Each check is told at most once an
hour, so one that comes and goes fills no mailbox; what it is after that hour is told in any case.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction

from infra.alarms.alarm import State
from infra.mail import outbox
from infra.mail.queue import EmailContent
from infra.models import Diagnosis, ToldFinding

AT_MOST_EVERY = timedelta(minutes=55)  # an hour, less by what a run may be early
SUMMARY_EVERY = timedelta(days=1)
SUMMARY = ""  # the name of the row that says when all that is open was last told
WORDS = {State.OK: "mended", State.SOON: "SOON", State.NOW: "NOW"}


def tell(findings: Sequence[Diagnosis], *, now: datetime) -> None:
    """Puts one e-mail about these findings into the outbox, if there is something to tell and an address."""
    if not (to := settings.OPERATOR.alerts):
        return
    with transaction.atomic():
        changed = _changed(findings, now)
        open_ones = [finding for finding in findings if finding.state != State.OK]
        summary = not changed and bool(open_ones) and _summary_is_due(now)
        told = changed or (open_ones if summary else [])
        if not told:
            return
        outbox.put(_email_content(to, told, summary=summary), purpose="doctor")
        _remember(told, now)
        if set(open_ones) <= set(told):
            ToldFinding.objects.update_or_create({"state": State.OK, "at": now}, name=SUMMARY)


def _changed(findings: Iterable[Diagnosis], now: datetime) -> list[Diagnosis]:
    """What is not as it was last told, and may be told now; the worst first."""
    told = {finding.name: finding for finding in ToldFinding.objects.exclude(name=SUMMARY)}
    changed = []
    for finding in findings:
        before = told.get(finding.name)
        if finding.state == (before.state if before else State.OK):
            continue
        if before is None or before.at <= now - AT_MOST_EVERY:
            changed.append(finding)
    return sorted(changed, key=lambda finding: (-finding.state, finding.name))


def _summary_is_due(now: datetime) -> bool:
    return not ToldFinding.objects.filter(name=SUMMARY, at__gt=now - SUMMARY_EVERY).exists()


def _remember(told: Iterable[Diagnosis], now: datetime) -> None:
    for finding in told:
        ToldFinding.objects.update_or_create({"state": finding.state, "at": now}, name=finding.name)


def _email_content(to: str, told: Sequence[Diagnosis], *, summary: bool) -> EmailContent:
    words = [(WORDS[State(finding.state)], finding) for finding in told]
    subject = ", ".join(f"{word} {finding.name}" for word, finding in words)
    lines = [
        f"{word} {finding.name}: {finding.seen}" + (f" To do: {finding.todo}." if finding.todo else "")
        for word, finding in words
    ]
    head = ["This is still open:"] if summary else []
    text = "\n\n".join([*head, *lines, "To look again: manage.py doctor"])
    return EmailContent(to, f"{settings.BASE_URL}: {'still open: ' if summary else ''}{subject}", text)
