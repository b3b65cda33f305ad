"""Runs of commands: a failure stops neither the other rows nor the other jobs, and ends the run as an error.

For the commands that the worker runs regularly, monitoring, `check` and operators read how they last ran.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import datetime, timedelta
from traceback import format_tb

import structlog
from django.core.management.base import CommandError
from django.db import Error, connection, transaction
from django.utils import timezone
from prometheus_client.core import GaugeMetricFamily

from infra.gauges import gauges
from infra.models import DatabaseMark, LastRun

log = structlog.get_logger(__name__)

# Regular job → what does not happen while it does not run.
COMMANDS = {
    "clear_expired": "what has expired is not erased",
    "doctor": "faults that no request meets yet are not found",
    "rotate_signing_keys": "signing keys are not replaced",
    "send_share_emails": "holders who asked for it are not told what they shared",
    "sign_audit_record": "a change of the audit record is not noticed, and its lines are not signed",
    "sweep_identity_verifications": (
        "identity checks do not end, nobody is told that their identity ends, and no wallet is closed"
    ),
}
BACKUP = "backup"  # the row for when the last backup ended
BACKUP_WITH_WAL = "backup_with_wal"  # the same, if what it restores needs archived WAL as well
WORKER = "worker"  # the row for when a worker was last seen
AUDIT_RECORD = "audit_record"  # the row for when the record was last verified, and how many faults it had

_failures: ContextVar[list[str]] = ContextVar("failures")  # of the present run, by the names in the log


@contextmanager
def run() -> Iterator[None]:
    """A run of a command: raises CommandError at its end if something that was `isolated` failed.

    A thread that works for the run needs a copy of its context (`contextvars.copy_context`).
    """
    failures: list[str] = []
    before = _failures.set(failures)
    try:
        yield
    finally:
        _failures.reset(before)
    if failures:
        counts = ", ".join(f"{event} ({count})" for event, count in Counter(failures).items())
        raise CommandError(f"Failed: {counts}. The log says why. Everything else was done.")


@contextmanager
def isolated(event: str, **about: str) -> Iterator[list[str]]:
    """Logs an exception of the block as `event`, and counts it for the run; the code after the block goes on.

    Gives a list, which then has what the log says.

    The log gets the class and the place of the exception. Its text is left out, because it may hold personal
    data; that of a CommandError is written for operators.
    """
    failed: list[str] = []
    try:
        yield failed
    except Exception as error:
        why, place = type(error.__cause__ or error).__name__, "".join(format_tb(error.__traceback__))
        if isinstance(error, CommandError):
            why = str(error)
        log.error(event, **about, why=why, exception=place)
        failed.append(why)
        _failures.get([]).append(event)
        if not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()  # the next statement connects again


@contextmanager
def recording(command: str) -> Iterator[None]:
    """A `run` of a regular command, whose end is recorded."""
    began = timezone.now()
    try:
        with run():
            yield
    except Exception:
        # What failed the command may fail this as well. In a database without a mark nothing is recorded.
        with suppress(Error, KeyError), transaction.atomic():
            never_ran = {"at": began - ages(now=began)[command], "failures": 1}
            LastRun.objects.update_or_create({"failures": 1}, never_ran, command=command)
        raise
    record(command, now=began)


def record(command: str, *, now: datetime, failures: int = 0) -> None:
    """The command has run to its end."""
    LastRun.objects.update_or_create(command=command, defaults={"at": now, "failures": failures})


def ages(*, now: datetime) -> dict[str, timedelta]:
    """How long ago each command last ran to its end; if it never did, how long ago the database was made.

    Empty for a database that is not marked.
    """
    last_runs = dict(LastRun.objects.values_list("command", "at"))
    marked_at = DatabaseMark.objects.values_list("marked_at", flat=True).first()
    since = {command: last_runs.get(command, marked_at) for command in COMMANDS}
    return {command: now - at for command, at in since.items() if at is not None}


def worker_away(*, now: datetime) -> timedelta:
    """How long ago a worker was last seen; if none ever was, how long ago the database was made."""
    seen = LastRun.objects.filter(command=WORKER).values_list("at", flat=True).first()
    seen = seen or DatabaseMark.objects.values_list("marked_at", flat=True).first()
    return now - seen if seen else timedelta(0)


def failures() -> dict[str, int]:
    """What failed in the last run of each command, and the faults of the audit record; 0 for nothing."""
    last_runs = dict(LastRun.objects.values_list("command", "failures"))
    return {name: last_runs.get(name, 0) for name in (*COMMANDS, AUDIT_RECORD)}


def run_metrics() -> Iterator[GaugeMetricFamily]:
    """docs/reference.md lists the metrics and the alerts."""
    since = {command: age.total_seconds() for command, age in ages(now=timezone.now()).items()}
    text = "Seconds since a regular command last ran to its end; before that, since the database was made."
    yield gauges("last_run_seconds", text, "command", since)
    text = "Seconds since a worker was last seen; before that, since the database was made."
    yield GaugeMetricFamily(
        "worker_seen_seconds", text, value=worker_away(now=timezone.now()).total_seconds()
    )
    failed = failures()
    text = "Faults of the audit record when it was last verified."
    yield GaugeMetricFamily("audit_record_faults", text, value=failed.pop(AUDIT_RECORD))
    yield gauges("last_run_failed", "1 if the last run of the command failed, else 0.", "command", failed)
