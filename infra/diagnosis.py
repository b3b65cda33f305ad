"""The doctor's checks of the database, the machine, the mail server, the audit record and the jobs."""

import shutil
import socket
import ssl
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection, transaction

from infra import runs
from infra.database import clocks
from infra.doctor import LATE, Check, State, graded
from infra.mail import sending
from infra.mail.metrics import ended_emails
from infra.models import LastRun
from infra.outbound.targets import parse

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
_STANDBYS = """
    SELECT current_setting('synchronous_standby_names') <> '', count(*) FILTER (WHERE sync_state IS NULL),
    count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')) FROM pg_stat_replication
"""
_ARCHIVE = """
    SELECT last_failed_time IS NOT NULL AND last_failed_time > coalesce(last_archived_time, '-infinity')
    FROM pg_stat_archiver
"""


def database(now: datetime) -> tuple[State, str]:
    """Writes a row into a new table: on a full disk the pages of others may still have room."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("CREATE TABLE doctor_writes (x int)")
        cursor.execute("INSERT INTO doctor_writes VALUES (1)")
        transaction.set_rollback(True)
    return State.OK, "The database stores a row."


def standby(now: datetime) -> tuple[State, str]:
    """Only members of pg_monitor see which standby is synchronous."""
    wanted, unknown, synchronous = _row(_STANDBYS)
    if not wanted or synchronous:
        return State.OK, f"Synchronous standbys: {synchronous}." if wanted else "None is configured."
    return State.SOON, "Only pg_monitor sees the standbys." if unknown else "No standby is synchronous."


def clock(now: datetime) -> tuple[State, str]:
    try:
        connection.ensure_connection()
    except clocks.WrongClockError as refused:
        return State.NOW, str(refused)
    off = abs(clocks.ahead(connection.connection))
    return graded(off, 5, clocks.MOST), f"It differs from the database's by {off:.1f} seconds."


def backup(now: datetime) -> tuple[State, str]:
    """When a backup last ended, as `manage.py record_backup` was told."""
    if settings.ENVIRONMENT_BANNER:
        return State.OK, "A sandbox needs none."
    at = LastRun.objects.filter(command=runs.BACKUP).values_list("at", flat=True).first()
    if at is None:
        return State.NOW, "No backup is known."
    return graded((now - at) / HOUR, 30, 72), f"The last one ended {(now - at) // HOUR} hours ago."


def archive(now: datetime) -> tuple[State, str]:
    (fails,) = _row(_ARCHIVE)
    return (State.NOW, "PostgreSQL cannot archive its WAL.") if fails else (State.OK, "No failure.")


def disk(now: datetime) -> tuple[State, str]:
    """The disks of this machine that the service writes to. That of the database may be elsewhere."""
    folders = {"STATE_DIRECTORY": str(settings.STATIC_ROOT.parent), "AUDIT_FOLDER": settings.AUDIT_FOLDER}
    usage = {name: shutil.disk_usage(path) for name, path in folders.items() if path and Path(path).is_dir()}
    shares = ((100 * each.free / each.total, name) for name, each in usage.items())
    free, name = min(shares, default=(100, "STATE_DIRECTORY"))
    return graded(-free, -10, -3), f"The disk of {name} has {free:.0f} % left."


def tls(now: datetime) -> tuple[State, str]:
    target = parse(settings.BASE_URL, loopback=True)
    if not target.tls:
        return State.OK, "BASE_URL has none, as in a sandbox on its developer's machine."
    plain = socket.create_connection((target.host, target.port), timeout=5)
    with plain, ssl.create_default_context().wrap_socket(plain, server_hostname=target.host) as secure:
        ends = ssl.cert_time_to_seconds(str((secure.getpeercert() or {})["notAfter"]))
    days = (ends - now.timestamp()) / DAY.total_seconds()
    return graded(-days, -21, -3), f"The certificate of the host ends in {days:.0f} days."


def audit_record(now: datetime) -> tuple[State, str]:
    """What `sign_audit_record` found, which verifies the whole record every hour."""
    if faults := runs.failures()[runs.AUDIT_RECORD]:
        return State.NOW, f"It is not as it was written: faults {faults}. Secure the machine first."
    if not (settings.AUDIT_FOLDER or settings.ENVIRONMENT_BANNER):
        return State.SOON, "AUDIT_FOLDER is not set, so nobody notices if its newest lines are removed."
    return State.OK, "It had no fault when it was last verified."


def mail(now: datetime) -> tuple[State, str]:
    """Connects to the mail server, and sends nothing."""
    with sending.new_backend():
        ended = ended_emails()
    refused = ended.get("refused", 0)
    state = State.SOON if refused > max(5, 0.05 * sum(ended.values())) else State.OK
    return state, f"The mail server takes connections; it has refused {refused} e-mails in seven days."


def jobs(now: datetime) -> tuple[State, str]:
    ages = {name: age for name, age in runs.ages(now=now).items() if name != "doctor"}
    late = {name for name, age in ages.items() if age > LATE}
    failed = {name for name, count in runs.failures().items() if count and name in ages}
    if not late | failed:
        return State.OK, "None is late, and none has failed."
    state = State.NOW if max(ages.values()) > runs.OVERDUE else State.SOON
    meaning = "; ".join(f"{name}: {runs.COMMANDS[name]}" for name in sorted(late | failed))
    return state, f"Late, or failed when they last ran: {meaning}."


def _row(query: str) -> tuple[Any, ...]:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return tuple(cursor.fetchone())


CHECKS: dict[str, Check] = {
    "database": (database, "see clock, or DatabaseAway and DatabaseRefusesWrites in docs/reference.md"),
    "disk": (disk, "make room there"),
    "tls": (tls, "let this machine reach BASE_URL; renew its certificate, with its chain; reload nginx"),
    "audit_record": (audit_record, "see docs/operators.md, “Audit record”"),
    "mail": (mail, "look at the mail server, EMAIL_URL and the list of e-mails in the admin"),
    "jobs": (jobs, "the worker's log says why (journalctl -u presentation-worker)"),
}
if connection.vendor == "postgresql":
    CHECKS |= {
        "standby": (standby, "bring it back (docs/database.md), or GRANT pg_monitor to the service's role"),
        "clock": (clock, "let both machines keep their clocks by NTP"),
        "backup": (backup, "see docs/operate.md, “Backup and restore”"),
        "archive": (archive, "see PostgreSQL's log: restores end where the archive ends; WAL fills the disk"),
    }
