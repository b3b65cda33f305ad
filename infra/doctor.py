"""The doctor: checks that find a fault before people meet it, and what an operator has to do about each.

Each app lists its checks in a module `diagnosis`; their limits and what to do are in `infra.alarms.table`.
The worker runs them every ten minutes, and keeps what they found for monitoring and for the operators' start
page.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from importlib import import_module
from time import sleep

from django.apps import apps
from django.core.management.base import CommandError
from django.db import connection, transaction
from django.utils import timezone
from django.utils.module_loading import module_has_submodule
from prometheus_client.core import GaugeMetricFamily

from infra import jobs, runs
from infra.alarms import telling
from infra.alarms.alarm import State
from infra.alarms.table import ALARMS
from infra.database.hung_database import bounded
from infra.gauges import gauges
from infra.models import Diagnosis
from infra.outbound.calls import OutboundError

PATIENCE = 10.0  # seconds that a check, or the storing of the findings, waits for the database
PAUSE = 3.0  # seconds before a check is made again after a failure of the network
EVERY = timedelta(minutes=10)
LATE = 3 * EVERY  # after which the findings are too old


# A function that takes the time and returns the state and what it saw.
Examination = Callable[[datetime], tuple[State, str]]


def examine(*, now: datetime) -> list[Diagnosis]:
    """Runs the CHECKS of all apps, whose names are those of rows of the table of alarms.

    One that raises counts as NOW; only the log says where it failed.
    """
    findings = []
    having = (app for app in apps.get_app_configs() if module_has_submodule(app.module, "diagnosis"))
    of_all = (import_module(f"{app.name}.diagnosis").CHECKS.items() for app in having)
    for name, check in (named_check for of_one in of_all for named_check in of_one):
        jobs.next_batch()
        state, seen = State.NOW, ""
        with suppress(CommandError), runs.run(), runs.isolated("doctor_check_failed", check=name) as failed:
            try:
                state, seen = _asked(check, now)
            except (OSError, OutboundError):  # perhaps one lost packet; the next run is later
                sleep(PAUSE)
                state, seen = _asked(check, now)
        seen = seen or f"This check fails: {', '.join(failed)}."
        todo = ALARMS[name].todo if state else ""
        findings.append(Diagnosis(name=name, state=state, seen=seen, todo=todo, at=now))
    roots = {
        finding.seen: finding.name
        for finding in reversed(findings)
        if finding.name in ("database", "migrations")
    }
    for finding in findings:
        if finding.state and (root := roots.get(finding.seen, finding.name)) != finding.name:
            finding.todo = f"see the check {root} first"
    return findings


def _asked(check: Examination, now: datetime) -> tuple[State, str]:
    """What the check says; a database that does not answer is given up, and is the finding."""
    with bounded(PATIENCE):
        return check(now)


def store(findings: Sequence[Diagnosis]) -> None:
    """Stores the findings in the place of the last ones, and tells the operator what has changed."""
    with bounded(PATIENCE):
        _store(findings)


@runs.recording("doctor")
def _store(findings: Sequence[Diagnosis]) -> None:
    with transaction.atomic():
        Diagnosis.objects.all().delete()
        Diagnosis.objects.bulk_create(findings)
    with runs.isolated("operator_not_told"):
        telling.tell(findings, now=timezone.now())


def run() -> None:
    """Runs the checks and keeps what they find."""
    store(examine(now=timezone.now()))


def doctor_metrics() -> Iterator[GaugeMetricFamily]:
    """What the doctor found when it last ran; `last_run_seconds` says when that was."""
    states = dict(Diagnosis.objects.values_list("name", "state"))
    text = (
        "What manage.py doctor found when it last ran: 0 all is well, 1 something is to be done soon, 2 now."
    )
    yield gauges("doctor_state", text, "check", states)
    size = GaugeMetricFamily("database_bytes", "The size of the database, if it is PostgreSQL.")
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            size.add_metric([], cursor.execute("SELECT pg_database_size(current_database())").fetchone()[0])
    yield size
