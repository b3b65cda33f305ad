"""The doctor: checks that find a fault before people meet it, and what an operator has to do about each.

Each app lists its checks in a module `diagnosis`. The worker runs them every hour, and keeps what they found
for monitoring and for the operators' start page.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from datetime import datetime, timedelta
from enum import IntEnum
from importlib import import_module
from time import sleep

from django.apps import apps
from django.conf import settings
from django.core.management.base import CommandError
from django.db import connection, transaction
from django.utils import timezone
from django.utils.module_loading import module_has_submodule
from prometheus_client.core import GaugeMetricFamily

from infra import jobs, limits, runs
from infra.gauges import gauges
from infra.mail import outbox
from infra.mail.queue import Letter
from infra.models import Diagnosis
from infra.outbound.calls import OutboundError

PAUSE = 3.0  # seconds before a check is made again after a failure of the network
LATE = timedelta(hours=3)  # after which the findings are too old
TOLD = limits.RollingLimit("operator-alerts", most=1, window=timedelta(days=1))  # e-mails about a check


class State(IntEnum):
    """SOON: nothing is broken yet. NOW: people meet the fault, or nothing protects them from one."""

    OK = 0
    SOON = 1
    NOW = 2


# A function that takes the time and returns the state and what it saw; and what to do unless that is OK.
Check = tuple[Callable[[datetime], tuple[State, str]], str]


def graded(value: float, soon: float, now: float) -> State:
    """The state of a value that should be small: SOON above one threshold, NOW above the other."""
    return State.NOW if value > now else State.SOON if value > soon else State.OK


def examine(*, now: datetime) -> list[Diagnosis]:
    """Runs the CHECKS of all apps. One that raises counts as NOW; only the log says where it failed."""
    found = []
    having = (app for app in apps.get_app_configs() if module_has_submodule(app.module, "diagnosis"))
    of_all = (import_module(f"{app.name}.diagnosis").CHECKS.items() for app in having)
    for name, (check, todo) in (each for of_one in of_all for each in of_one):
        jobs.next_batch()
        state, seen = State.NOW, ""
        with suppress(CommandError), runs.run(), runs.isolated("doctor_check_failed", check=name) as failed:
            try:
                state, seen = check(now)
            except (OSError, OutboundError):  # perhaps one lost packet; the next run is in an hour
                sleep(PAUSE)
                state, seen = check(now)
        seen = seen or f"This check fails: {', '.join(failed)}."
        found.append(Diagnosis(name=name, state=state, seen=seen, todo=todo if state else "", at=now))
    roots = {each.seen: each.name for each in reversed(found) if each.name in ("database", "migrations")}
    for each in found:
        if each.state and (root := roots.get(each.seen, each.name)) != each.name:
            each.todo = f"see the check {root} first"
    return found


@runs.recording("doctor")
def keep(found: Sequence[Diagnosis]) -> None:
    """Stores the findings in the place of the last ones, and tells the operator what is NOW."""
    with transaction.atomic():
        Diagnosis.objects.all().delete()
        Diagnosis.objects.bulk_create(found)
    with runs.isolated("operator_not_told"):
        _tell([each for each in found if each.state == State.NOW])


def run() -> None:
    """Runs the checks and keeps what they find."""
    keep(examine(now=timezone.now()))


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


def _tell(urgent: Sequence[Diagnosis]) -> None:
    """One e-mail, if the operator wants any, about those of which none was sent for a day."""
    to = settings.OPERATOR.alerts  # what is taken below is not given back, because no stack is closed
    fresh = [
        each for each in urgent if to and limits.take_all((TOLD, each.name), now=each.at, taken=ExitStack())
    ]
    if fresh:
        lines = [f"{each.name}: {each.seen} To do: {each.todo}." for each in fresh]
        subject = f"{settings.BASE_URL}: {', '.join(each.name for each in fresh)}"
        text = "\n\n".join([*lines, "To look again: manage.py doctor"])
        outbox.put(Letter(to, subject, text), purpose="doctor")
