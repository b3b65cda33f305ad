"""The doctor's checks of PostgreSQL: its standbys, what they lack, its archive and backups, and its clock.

Only members of `pg_monitor` see the standbys and what waits to be archived.
"""

import shutil
import subprocess
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.db import ProgrammingError, connection, transaction
from prometheus_client.core import GaugeMetricFamily

from infra import runs
from infra.alarms.alarm import State
from infra.alarms.table import ALARMS
from infra.database import clocks
from infra.models import LastRun

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
MEGABYTE = 1e6
_STANDBYS = """
    SELECT current_setting('synchronous_standby_names') <> '',
    count(*) FILTER (WHERE state IS NULL), count(*) FILTER (WHERE state = 'streaming'),
    count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')) FROM pg_stat_replication
"""
# A standby whose column is empty has not said yet what it has. A slot keeps WAL also while nobody reads it.
_LAG = """
    SELECT coalesce(max(pg_wal_lsn_diff(pg_current_wal_lsn(), taken)), 0) FROM (
        SELECT replay_lsn AS taken FROM pg_stat_replication
        UNION ALL SELECT restart_lsn FROM pg_replication_slots
    ) AS each WHERE taken IS NOT NULL
"""
_ARCHIVING = """
    SELECT current_setting('archive_mode') <> 'off',
    last_failed_time IS NOT NULL AND last_failed_time > coalesce(last_archived_time, '-infinity')
    FROM pg_stat_archiver
"""
_OLDEST_READY = "SELECT min(modification) FROM pg_ls_archive_statusdir() WHERE name LIKE '%.ready'"


def standby(now: datetime) -> tuple[State, str]:
    """Counts the standbys: under Patroni the server's settings do not say how many there should be."""
    expected = settings.DATABASE_STANDBYS
    synchronous_wanted, unknown, streaming, synchronous = _row(_STANDBYS)
    if unknown:
        return State.SOON, "Only pg_monitor sees the standbys."
    seen = f"Standbys that stream: {streaming} of {expected}; synchronous: {synchronous}."
    if streaming < expected:
        return (State.SOON if streaming else State.NOW), seen
    if synchronous_wanted and not synchronous:
        return State.SOON, seen
    return State.OK, seen if expected else "DATABASE_STANDBYS expects none."


def replication_lag(now: datetime) -> tuple[State, str]:
    behind = lag()
    state = ALARMS["replication_lag"].state(behind / MEGABYTE)
    return state, f"The slowest standby or slot lacks {behind / MEGABYTE:.0f} MB of WAL."


def lag() -> int:
    """How many bytes of WAL the slowest standby or replication slot has not taken; 0 on a standby itself."""
    (is_standby,) = _row("SELECT pg_is_in_recovery()")
    return 0 if is_standby else int(_row(_LAG)[0])


def lag_metric() -> Iterator[GaugeMetricFamily]:
    """docs/reference.md lists the metric and its alerts."""
    text = (
        "WAL that the slowest standby or replication slot has not taken yet, if the database is PostgreSQL."
    )
    family = GaugeMetricFamily("database_replication_lag_bytes", text)
    if connection.vendor == "postgresql":
        family.add_metric([], lag())
    yield family


def archive(now: datetime) -> tuple[State, str]:
    """Looks at what waits, because an `archive_command` that hangs has not failed."""
    is_on, fails = _row(_ARCHIVING)
    if not is_on and _backups_need_wal():
        return State.NOW, "archive_mode is off, and the last backup needs archived WAL."
    if not is_on:
        return State.OK, "archive_mode is off, and backups are dumps."
    if fails:
        return State.NOW, "PostgreSQL cannot archive its WAL."
    try:
        with transaction.atomic():
            (oldest,) = _row(_OLDEST_READY)
    except ProgrammingError:  # not permitted
        return State.SOON, "Only pg_monitor sees what waits to be archived."
    waited = (now - oldest if oldest else timedelta(0)) / MINUTE
    return ALARMS["archive"].state(
        waited
    ), f"The oldest WAL file that is not archived waits {waited:.0f} minutes."


def _backups_need_wal() -> bool:
    """Whether the last backup was one of pgBackRest, as `record_backup` was told; a dump needs no WAL."""
    at = dict(
        LastRun.objects.filter(command__in=[runs.BACKUP, runs.BACKUP_WITH_WAL]).values_list("command", "at")
    )
    return runs.BACKUP_WITH_WAL in at and at[runs.BACKUP_WITH_WAL] >= at[runs.BACKUP]


def backup(now: datetime) -> tuple[State, str]:
    """When a backup last ended, as `manage.py record_backup` was told."""
    if settings.ENVIRONMENT_BANNER:
        return State.OK, "A sandbox needs none."
    at = LastRun.objects.filter(command=runs.BACKUP).values_list("at", flat=True).first()
    if at is None:
        return State.NOW, "No backup is known."
    return ALARMS["backup"].state((now - at) / HOUR), f"The last one ended {(now - at) // HOUR} hours ago."


class NTP(NamedTuple):
    """Whether systemd says that NTP keeps this machine's clock; None where nobody can be asked."""

    keeps: bool | None

    def __str__(self) -> str:
        return {
            True: "NTP keeps it.",
            False: "NTP does not keep it.",
            None: "This machine does not say whether NTP keeps it.",
        }[self.keeps]

    @classmethod
    def ask(cls) -> "NTP":
        """Asks timedatectl(1), which reads what the kernel knows."""
        if not (program := shutil.which("timedatectl")):
            return cls(None)
        command = [program, "show", "--property=NTPSynchronized", "--value"]
        try:
            said = subprocess.run(  # noqa: S603 - a program of systemd
                command, capture_output=True, text=True, timeout=5, check=False
            ).stdout.strip()
        except (OSError, subprocess.TimeoutExpired):
            return cls(None)
        return cls({"yes": True, "no": False}.get(said))


def clock(now: datetime) -> tuple[State, str]:
    """Compares two clocks, which says nothing where both are the same one, and asks what keeps this one."""
    try:
        connection.ensure_connection()
    except clocks.WrongClockError as refused:
        return State.NOW, str(refused)
    off, ntp = abs(clocks.ahead(connection.connection)), NTP.ask()
    state = ALARMS["clock"].state(off)
    if ntp.keeps is False and not settings.ENVIRONMENT_BANNER:
        state = max(state, State.SOON)
    return state, f"It differs from the database's by {off:.1f} seconds. {ntp}"


def _row(query: str) -> tuple[Any, ...]:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return tuple(cursor.fetchone())
