"""The doctor's checks of the machine, the mail server and its queue, the worker and the audit record."""

import os
import shutil
import socket
import ssl
from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection, transaction

from infra import limits, named_files, retention, runs
from infra.alarms.alarm import State
from infra.alarms.table import ALARMS
from infra.database import diagnosis as of_database
from infra.doctor import Examination
from infra.mail import sending
from infra.mail.metrics import ended_emails, waiting_emails
from infra.outbound.targets import parse

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
REFUSED = 20  # e-mails of a day, up to which it is no matter of the mail server
MOST_CODES = 50  # that wait at once


def database(now: datetime) -> tuple[State, str]:
    """Writes a row into a new table: on a full disk the pages of others may still have room."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("CREATE TABLE doctor_writes (x int)")
        cursor.execute("INSERT INTO doctor_writes VALUES (1)")
        transaction.set_rollback(True)
    return State.OK, "The database stores a row."


def disk(now: datetime) -> tuple[State, str]:
    """The disks of this machine that the service writes to. That of the database may be elsewhere."""
    folders = {"STATE_DIRECTORY": str(settings.STATIC_ROOT.parent), "AUDIT_FOLDER": settings.AUDIT_FOLDER}
    usage = {name: shutil.disk_usage(path) for name, path in folders.items() if os.path.isdir(path)}
    shares = ((100 * space.free / space.total, name) for name, space in usage.items())
    free, name = min(shares, default=(100, "STATE_DIRECTORY"))
    return ALARMS["disk"].state(free), f"The disk of {name} has {free:.0f} % left."


def files(now: datetime) -> tuple[State, str]:
    """The worker runs this as the service's user, who has to use every file that a setting names."""
    if faults := named_files.faults(only_reading=False):
        return State.NOW, " ".join(faults)
    return State.OK, "The service can use every file that its settings name."


def tls(now: datetime) -> tuple[State, str]:
    target = parse(settings.BASE_URL, loopback=True)
    if not target.tls:
        return State.OK, "BASE_URL has none, as in a sandbox on its developer's machine."
    plain = socket.create_connection((target.host, target.port), timeout=5)
    with plain, ssl.create_default_context().wrap_socket(plain, server_hostname=target.host) as secure:
        ends = ssl.cert_time_to_seconds(str((secure.getpeercert() or {})["notAfter"]))
    days = (ends - now.timestamp()) / DAY.total_seconds()
    return ALARMS["tls"].state(days), f"The certificate of the host ends in {days:.0f} days."


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
        ended = ended_emails(since=now - DAY)
    refused = ended.get("refused", 0)
    share = 100 * refused / sum(ended.values()) if refused > REFUSED else 0
    state = ALARMS["mail"].state(share)
    return state, f"The mail server takes connections. Mail servers refused {refused} e-mails of a day."


def worker(now: datetime) -> tuple[State, str]:
    """Whether any worker is there: without one no code is sent, and nothing else tells of it here."""
    seconds = runs.worker_away(now=now).total_seconds()
    return ALARMS["worker"].state(seconds), f"A worker was last seen {seconds:.0f} seconds ago."


def urgent_emails(now: datetime) -> tuple[State, str]:
    waiting = waiting_emails(now)[True]
    seconds = waiting.overdue.total_seconds()
    state = State.NOW if waiting.count > MOST_CODES else ALARMS["urgent_emails"].state(seconds)
    return state, f"Codes and links that wait: {waiting.count}, the oldest overdue by {seconds:.0f} seconds."


def emails(now: datetime) -> tuple[State, str]:
    waiting = waiting_emails(now)[False]
    minutes = waiting.overdue / MINUTE
    seen = f"Other e-mails that wait: {waiting.count}, the oldest overdue by {minutes:.0f} minutes."
    return ALARMS["emails"].state(minutes), seen


def clearing(now: datetime) -> tuple[State, str]:
    late = retention.overdue(now=now)
    hours, data = max(((waited / HOUR, data) for data, waited in late.items()), default=(0.0, ""))
    state = ALARMS["clearing"].state(hours)
    return state, f"{data} is kept {hours:.0f} hours too long." if state else "Nothing is kept too long."


def client_addresses(now: datetime) -> tuple[State, str]:
    """Whether every limit per client address counts (`limits.ClientLimit`)."""
    if not limits.addresses_unread(now=now):
        return State.OK, "Every client address that limits needed within the last hour could be read."
    proxies = settings.TRUSTED_PROXY_COUNT
    if not proxies:
        return State.NOW, "Requests came without a client address, as through a socket file."
    return State.NOW, (
        f"Within the last hour X-Forwarded-For had fewer than {proxies} entries, or no address in the one "
        f"that counts, which is number {proxies} from the right."
    )


CHECKS: dict[str, Examination] = {
    "database": database,
    "disk": disk,
    "files": files,
    "tls": tls,
    "audit_record": audit_record,
    "worker": worker,
    "urgent_emails": urgent_emails,
    "emails": emails,
    "mail": mail,
    "clearing": clearing,
    "client_addresses": client_addresses,
}
if connection.vendor == "postgresql":
    CHECKS |= {
        "standby": of_database.standby,
        "replication_lag": of_database.replication_lag,
        "archive": of_database.archive,
        "backup": of_database.backup,
        "clock": of_database.clock,
    }
