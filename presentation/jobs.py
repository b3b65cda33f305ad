"""The jobs of `manage.py worker`."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from io import StringIO

import structlog
from django.conf import settings
from django.core.management import call_command
from django.utils.timezone import now

from infra import doctor, runs
from infra.jobs import Job
from infra.mail import queue, sending
from infra.outbound.calls import Outbound
from presentation import share_emails
from presentation.requests import revocations
from presentation.webhooks import delivery

log = structlog.get_logger(__name__)

OFTEN, SECONDS, HOUR = timedelta(seconds=0.5), timedelta(seconds=5), timedelta(hours=1)
_emails = partial(sending.send_due, clock=now)


def _webhooks() -> None:
    delivery.deliver_due(outbound=Outbound(loopback=settings.LOOPBACK_CALLS), clock=now)


@runs.recording("send_share_emails")
def _share_emails() -> None:
    share_emails.send_due(now=now())


def _due(command: str, every: timedelta) -> Job:
    def run() -> None:
        out = StringIO()
        call_command(command, stdout=out)
        log.info("job_done", job=command, said=out.getvalue().strip())

    return Job(command, every, run)


def _queue(name: str, every: timedelta, run: Callable[[], object], failed: str, threads: int = 1) -> Job:
    return Job(name, every, run, failed, shared=True, threads=threads, limit=timedelta(minutes=5))


SHARED = (
    _queue("urgent_emails", OFTEN, partial(_emails, urgent=True), "emails_not_looked_at", threads=2),
    _queue("emails", OFTEN, partial(_emails, urgent=False), "emails_not_looked_at"),
    _queue("late_emails", SECONDS, lambda: queue.end_expired(now=now()), "emails_not_looked_at"),
    _queue("webhooks", SECONDS, _webhooks, "webhooks_not_looked_at", threads=4),
    _queue("revocations", SECONDS, lambda: revocations.collect(now=now()), "revocations_not_collected"),
)
DUE = (
    Job("send_share_emails", timedelta(minutes=1), _share_emails),
    _due("sweep_identity_verifications", timedelta(minutes=5)),
    _due("rotate_signing_keys", HOUR),
    _due("clear_expired", HOUR),
    _due("sign_audit_record", HOUR),
    Job("doctor", doctor.EVERY, doctor.run),
)
JOBS = {job.name: job for job in (*SHARED, *DUE)}
